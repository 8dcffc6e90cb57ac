import { type Database, prepared } from "@tidings/database/database";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import { coalesce } from "@tidings/runtime/coalesce";
import type { Upstreams } from "@tidings/service/upstreams";
import { RefusalReason } from "./refusals.ts";

/** An answer of the contact service, which is good for a second. */
export interface Contactable {
  /** Empty when the contact may be written to: "not_found", "unsubscribed", "bounced", "manual", "suppressed", "paused", "frequency". */
  refusal: string;
  isFresh(): boolean;
}

/** Asks whether a contact may be written to on a channel now. Throws while that cannot be found out. */
export type AskContactable = (channel: string, contactId: number) => Promise<Contactable>;

/** No mail begins later than this after the contact service heard a no (decision 59). */
const GOOD_MS = 1_000;
const ASK_MS = 5_000;
const ASKED_MAX = 1_000;
const actor = serviceActor("Sends");

const refusedStatement = prepared(
  "send_refusals_of",
  "select contact_id, reason from send_refusals where channel = $1 and contact_id = any ($2::integer[])",
);

/** Sends that ask at the same time share a question. A no that was said here counts before the contact service has heard of it. */
export function contactableAsker(database: Database, upstreams: Upstreams): AskContactable {
  const contacts = upstreams.client("contact", ContactCommandService);
  const ask = coalesce(
    async (asked: { channel: string; contactId: number }[]) => {
      // The answer is as old as the question.
      const askedMs = performance.now();
      const outgoing = { actor, deadlineMs: Date.now() + ASK_MS, requestId: "" };
      const ids = [...new Set(asked.map(({ contactId }) => contactId))];
      const channel = asked[0]?.channel ?? "";
      const [{ contacts: answers }, rows] = await Promise.all([
        contacts.checkContactable({ channel, ids }, outgoing),
        database.query(refusedStatement, [channel, ids], outgoing.deadlineMs),
      ]);
      const refused = new Map(
        rows.map(({ contact_id, reason }) => [Number(contact_id), wordOf(Number(reason))]),
      );
      const isFresh = () => performance.now() - askedMs < GOOD_MS;
      const answerOf = ({ id, refusal }: { id: number; refusal: string }) =>
        [id, { refusal: refused.get(id) ?? refusal, isFresh }] as const;
      return new Map(answers.map(answerOf));
    },
    { atOnce: 4, itemsMax: ASKED_MAX },
  );
  return async (channel, contactId) => {
    const answer = (await ask(channel, { channel, contactId })).get(contactId);
    if (!answer) throw new Error(`nothing was said of contact ${contactId}`);
    return answer;
  };
}

/** A reason in the words of the contact service. */
function wordOf(reason: number): string {
  return reason === RefusalReason.BOUNCED ? "bounced" : "unsubscribed";
}
