import { createPublicKey, type KeyObject, verify } from "node:crypto";
import { type JsonObject, membersOf } from "@tidings/resource/json-member";
import { type Check, headerOf, isStale, listedItems, REFUSED, STALE } from "./check.ts";
import type { FeedbackKind, ReadItem } from "./feedback.ts";
import { feedbackOf, hashOf, kindOfBounce, wordsOf } from "./read-feedback.ts";

const SIGNATURE = "x-twilio-email-event-webhook-signature";
const TIMESTAMP = "x-twilio-email-event-webhook-timestamp";

/** The public key of the signed event webhook, as its settings show it. Undefined for a text that is none. */
export function sendgridKey(text: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(text, "base64"), format: "der", type: "spki" });
    return key.asymmetricKeyDetails?.namedCurve === "prime256v1" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** The signature covers the timestamp and the body. */
export function sendgridCheck(key: KeyObject): Check {
  return (request) => {
    const timestamp = headerOf(request, TIMESTAMP);
    const signature = Buffer.from(headerOf(request, SIGNATURE), "base64");
    if (!verify("sha256", Buffer.from(timestamp + request.body), key, signature)) return REFUSED;
    return isStale(Number(timestamp) * 1_000, request.now) ? STALE : listedItems(request.body);
  };
}

export const readSendgrid: ReadItem = (item) => {
  const members = membersOf(item);
  if (wordsOf(members.event) === "") return undefined;
  const kind = kindOf(members);
  if (kind === undefined) return [];
  const { sg_event_id: id, tidings, email: address, timestamp: at, status, reason, response } = members;
  const text = wordsOf(reason) || wordsOf(response);
  const hash = hashOf(tidings, members["smtp-id"]);
  const code = /^\d{3}/.exec(text)?.[0] ?? wordsOf(status).replace(/\D/g, "");
  return feedbackOf(kind, { id, hash, address, at, code: kind === "delivered" ? undefined : code, text });
};

function kindOf({ event, type, status, reason }: JsonObject): FeedbackKind | undefined {
  switch (wordsOf(event)) {
    case "delivered":
      return "delivered";
    case "bounce":
      return wordsOf(type) === "blocked" ? "blocked" : kindOfBounce(status, reason);
    case "dropped":
      return kindOfDrop(wordsOf(reason));
    case "spamreport":
      return "complaint";
    case "unsubscribe":
    case "group_unsubscribe":
      return "unsubscribe";
    default:
      return undefined;
  }
}

/** The provider did not try: its own list says why. */
function kindOfDrop(reason: string): FeedbackKind {
  if (/^(?:bounced address|invalid)/i.test(reason)) return "hard";
  if (/^spam report/i.test(reason)) return "complaint";
  return /^unsubscribed/i.test(reason) ? "unsubscribe" : "blocked";
}
