import { type JsonObject, membersOf } from "@tidings/resource/json-member";
import { type Check, isBasic, listedItems, REFUSED } from "./check.ts";
import type { FeedbackKind, ReadItem } from "./feedback.ts";
import { feedbackOf, hashOf, wordsOf } from "./read-feedback.ts";

export function sparkpostCheck(secret: string): Check {
  return (request) => (isBasic(request, secret) ? listedItems(request.body) : REFUSED);
}

/** Each item is `{"msys": {"<kind of event>": {...}}}`; the one of a test is empty. */
export const readSparkpost: ReadItem = (item) => {
  const { msys } = membersOf(item);
  if (msys === undefined) return undefined;
  const [members] = Object.values(membersOf(msys)).map(membersOf);
  const kind = members && kindOf(members);
  if (!kind) return [];
  const { event_id: id, rcpt_meta: meta, rcpt_to: address, timestamp: at, error_code: code } = members;
  const text = wordsOf(members.raw_reason) || wordsOf(members.reason);
  return feedbackOf(kind, { id, hash: hashOf(membersOf(meta).tidings), address, at, code, text });
};

function kindOf({ type, bounce_class: bounceClass }: JsonObject): FeedbackKind | undefined {
  switch (wordsOf(type)) {
    case "delivery":
      return "delivered";
    case "bounce":
    case "out_of_band":
      return kindOfClass(Number(wordsOf(bounceClass)));
    case "policy_rejection":
      return "blocked";
    case "spam_complaint":
      return "complaint";
    case "list_unsubscribe":
    case "link_unsubscribe":
      return "unsubscribe";
    default:
      return undefined;
  }
}

const HARD = new Set([10, 30]);
/** Too large, suppressed by an administrator or the provider, taken for spam, or refused for what it is. */
const BLOCKED = new Set([23, 25, 26, 50, 51, 52, 53, 54]);
const UNSUBSCRIBED = 90;
/** An auto-reply, and somebody who subscribes. */
const NO_BOUNCES = new Set([60, 80]);

function kindOfClass(bounceClass: number): FeedbackKind | undefined {
  if (NO_BOUNCES.has(bounceClass)) return undefined;
  if (bounceClass === UNSUBSCRIBED) return "unsubscribe";
  if (HARD.has(bounceClass)) return "hard";
  return BLOCKED.has(bounceClass) ? "blocked" : "soft";
}
