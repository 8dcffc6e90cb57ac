import { createHmac } from "node:crypto";
import { type JsonObject, jsonIn, membersOf } from "@tidings/resource/json-member";
import { type Check, isSame, isStale, REFUSED, STALE, UNREADABLE } from "./check.ts";
import type { FeedbackKind, ReadItem } from "./feedback.ts";
import { feedbackOf, hashOf, kindOfBounce, wordsOf } from "./read-feedback.ts";

/** The signature covers timestamp and token and not the event: a token is good for one callback. */
export function mailgunCheck(signingKey: string): Check {
  return ({ body, now }) => {
    const sent = jsonIn(body);
    if (sent === undefined) return UNREADABLE;
    const { signature: signed, "event-data": event } = membersOf(sent);
    const { timestamp, token, signature } = membersOf(signed);
    const [at, nonce] = [wordsOf(timestamp), wordsOf(token)];
    const mac = createHmac("sha256", signingKey)
      .update(at + nonce)
      .digest("hex");
    if (nonce === "" || !isSame(wordsOf(signature), mac)) return REFUSED;
    return isStale(Number(at) * 1_000, now) ? STALE : { items: [event], nonce };
  };
}

export const readMailgun: ReadItem = (item) => {
  const members = membersOf(item);
  if (wordsOf(members.event) === "") return undefined;
  const kind = kindOf(members);
  if (kind === undefined) return [];
  const { id, recipient: address, timestamp: at, message, "user-variables": variables } = members;
  const { "message-id": messageId } = membersOf(membersOf(message).headers);
  const status = membersOf(members["delivery-status"]);
  const hash = hashOf(membersOf(variables).tidings, messageId);
  const text = wordsOf(status.message) || wordsOf(status.description) || wordsOf(members.reason);
  return feedbackOf(kind, { id, hash, address, at, code: status.code, text });
};

function kindOf({
  event,
  severity,
  reason,
  "delivery-status": status,
}: JsonObject): FeedbackKind | undefined {
  switch (wordsOf(event)) {
    case "delivered":
      return "delivered";
    case "complained":
      return "complaint";
    case "unsubscribed":
      return "unsubscribe";
    case "rejected":
      return "blocked";
    case "failed":
      // The provider tries again after a failure for now.
      return wordsOf(severity) === "permanent"
        ? kindOfFailure(wordsOf(reason), membersOf(status))
        : undefined;
    default:
      return undefined;
  }
}

const FAILURES = new Map<string, FeedbackKind>([
  ["suppress-bounce", "hard"],
  ["suppress-complaint", "complaint"],
  ["suppress-unsubscribe", "unsubscribe"],
  // It was tried for hours.
  ["old", "soft"],
  ["espblock", "blocked"],
]);

function kindOfFailure(reason: string, status: JsonObject): FeedbackKind {
  return FAILURES.get(reason) ?? kindOfBounce(status["enhanced-code"], status.message, status.description);
}
