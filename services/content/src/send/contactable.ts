import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import { coalesce } from "@tidings/runtime/coalesce";
import type { Upstreams } from "@tidings/service/upstreams";

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

/** Sends that ask at the same time share a question. */
export function contactableAsker(upstreams: Upstreams): AskContactable {
  const contacts = upstreams.client("contact", ContactCommandService);
  const ask = coalesce(
    async (asked: { channel: string; contactId: number }[]) => {
      // The answer is as old as the question.
      const askedMs = performance.now();
      const outgoing = { actor, deadlineMs: Date.now() + ASK_MS, requestId: "" };
      const ids = [...new Set(asked.map(({ contactId }) => contactId))];
      const channel = asked[0]?.channel ?? "";
      const { contacts: answers } = await contacts.checkContactable({ channel, ids }, outgoing);
      const isFresh = () => performance.now() - askedMs < GOOD_MS;
      return new Map(answers.map(({ id, refusal }) => [id, { refusal, isFresh }]));
    },
    { atOnce: 4, itemsMax: ASKED_MAX },
  );
  return async (channel, contactId) => {
    const answer = (await ask(channel, { channel, contactId })).get(contactId);
    if (!answer) throw new Error(`nothing was said of contact ${contactId}`);
    return answer;
  };
}
