import { type JsonObject, jsonIn, membersOf } from "@tidings/resource/json-member";
import { type Check, isBasic, REFUSED, UNREADABLE } from "./check.ts";
import type { FeedbackKind, ReadItem } from "./feedback.ts";
import { feedbackOf, hashOf, wordsOf } from "./read-feedback.ts";

export function postmarkCheck(secret: string): Check {
  return (request) => {
    if (!isBasic(request, secret)) return REFUSED;
    const event = jsonIn(request.body);
    return event === undefined ? UNREADABLE : { items: [event] };
  };
}

export const readPostmark: ReadItem = (item) => {
  const members = membersOf(item);
  if (wordsOf(members.RecordType) === "") return undefined;
  const kind = kindOf(members);
  if (kind === undefined) return [];
  const { ID, MessageID, Metadata, Details, Description } = members;
  const at = members.BouncedAt ?? members.DeliveredAt ?? members.ChangedAt;
  const text = wordsOf(Details) || wordsOf(Description);
  return feedbackOf(kind, {
    // A bounce and a complaint may have one ID, a delivery has none.
    id: [kind, ID, MessageID, at].map(wordsOf).join(" "),
    hash: hashOf(membersOf(Metadata).tidings),
    address: members.Email ?? members.Recipient,
    at,
    code: /\b[45]\d\d\b/.exec(text)?.[0],
    text,
  });
};

function kindOf({
  RecordType,
  Type,
  SuppressSending,
  SuppressionReason,
}: JsonObject): FeedbackKind | undefined {
  switch (wordsOf(RecordType)) {
    case "Delivery":
      return "delivered";
    case "SpamComplaint":
      return "complaint";
    case "Bounce":
      return BOUNCES.get(wordsOf(Type));
    case "SubscriptionChange":
      // Bounces and complaints have callbacks of their own.
      return SuppressSending === true && wordsOf(SuppressionReason) === "ManualSuppression"
        ? "unsubscribe"
        : undefined;
    default:
      return undefined;
  }
}

/** The other types are answers of people and machines, or delays. */
const BOUNCES = new Map<string, FeedbackKind>([
  ["HardBounce", "hard"],
  ["BadEmailAddress", "hard"],
  ["SoftBounce", "soft"],
  ["DnsError", "soft"],
  ["Unknown", "soft"],
  ["Blocked", "blocked"],
  ["SpamNotification", "blocked"],
  ["DMARCPolicy", "blocked"],
  ["ManuallyDeactivated", "blocked"],
  ["SpamComplaint", "complaint"],
  ["Unsubscribe", "unsubscribe"],
]);
