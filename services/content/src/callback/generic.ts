import { createHmac } from "node:crypto";
import { membersOf } from "@tidings/resource/json-member";
import { type Check, headerOf, isSame, listedItems, REFUSED } from "./check.ts";
import { FEEDBACK_KINDS, type ReadItem } from "./feedback.ts";
import { feedbackOf, hashOf, wordsOf } from "./read-feedback.ts";

/** Events of people and servers that change no send. */
const IGNORED = new Set(["open", "click", "deferred", "processed"]);

/** `Tidings-Signature: sha256=<HMAC-SHA256 of the body in hexadecimal digits>`. */
export function genericCheck(secret: string): Check {
  return (request) => {
    const mac = createHmac("sha256", secret).update(request.body).digest("hex");
    return isSame(headerOf(request, "tidings-signature"), `sha256=${mac}`)
      ? listedItems(request.body)
      : REFUSED;
  };
}

/** `{"event", "hash" or "messageId", "address", "reason", "code", "time", "id"}` */
export const readGeneric: ReadItem = (item) => {
  const { event, hash, messageId, address, reason, code, time, id } = membersOf(item);
  const name = wordsOf(event);
  if (IGNORED.has(name)) return [];
  const kind = FEEDBACK_KINDS.find((known) => known === name);
  return (
    kind && feedbackOf(kind, { id, hash: hashOf(hash, messageId), address, at: time, code, text: reason })
  );
};
