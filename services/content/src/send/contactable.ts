import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { StartLimit } from "@tidings/jobs/limited-starts";
import { idsByFate } from "@tidings/projection/contact-fates";
import type { ChannelRule, FrequencyLimit } from "@tidings/proto/tidings/contact/v1/command";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { Upstreams } from "@tidings/service/upstreams";
import { refusesCategory } from "./category-choices.ts";
import { RefusalReason } from "./refusals.ts";
import { reasonOfAddress } from "./refused-addresses.ts";

/** An answer of the contact service, which is good for a second. */
export interface Contactable {
  /** Empty when the contact may be written to: "not_found", "unsubscribed", "bounced", "manual", "suppressed", "category", "paused", "frequency". */
  refusal: string;
  /** Since when the contact service refuses, where that is known. */
  since?: Timestamp | undefined;
  /** The contact's own frequency rule of the channel. */
  rule?: ChannelRule | undefined;
  /** The most messages of the channel that the contact gets in a time, where there is a limit. */
  limit?: StartLimit | undefined;
  isFresh(): boolean;
}

/** Asks whether a contact may be written to on a channel now. Throws while that cannot be found out. */
export type AskContactable = (
  channel: string,
  contactId: number,
  /** The email of a send to segments: contacts may refuse its category. */
  emailId?: number,
  /** The address of the message: another contact may have refused it. */
  address?: string,
) => Promise<Contactable>;

interface Asked {
  channel: string;
  contactId: number;
  emailId: number | undefined;
  address: string | undefined;
}

/** No mail begins later than this after the contact service heard a no (decision 59). */
const GOOD_MS = 1_000;
const ASK_MS = 5_000;
const ASKED_MAX = 1_000;
/** Refusals for now: they hold back what nobody has to have at once. */
export const LIMITS: ReadonlySet<string> = new Set(["paused", "frequency"]);
const actor = serviceActor("Sends");

const refusedStatement = prepared(
  "send_refusals_of",
  `select b.contact_id, null::integer as email_id, ${reasonOfAddress("b.address", "$1")} as reason from unnest($5::integer[], $6::text[]) as b (contact_id, address)
   union all select c.contact_id, null, min(r.reason) from unnest($2::integer[]) as c (contact_id)
   cross join lateral ${idsByFate("c.contact_id")} as i (id) join send_refusals r on r.contact_id = i.id and r.channel = $1 group by c.contact_id
   union all select a.contact_id, a.email_id, null from unnest($3::integer[], $4::integer[]) as a (contact_id, email_id)
   where ${refusesCategory("a.contact_id", "a.email_id")}`,
);

/** Sends that ask at the same time share a question. A no that was said here counts before the contact service has heard of it. */
export function contactableAsker(database: Database, upstreams: Upstreams): AskContactable {
  const contacts = upstreams.client("contact", ContactCommandService);
  const ask = coalesce(
    async (asked: Asked[]) => {
      // The answer is as old as the question.
      const askedMs = performance.now();
      const outgoing = { actor, deadlineMs: Date.now() + ASK_MS, requestId: "" };
      const ids = [...new Set(asked.map(({ contactId }) => contactId))];
      const channel = asked[0]?.channel ?? "";
      const ofEmails = asked.filter(({ emailId }) => emailId !== undefined);
      const addressed = asked.filter(({ address }) => address !== undefined);
      const [{ contacts: answers }, rows] = await Promise.all([
        contacts.checkContactable({ channel, ids }, outgoing),
        database.query(
          refusedStatement,
          [
            ...[channel, ids],
            ...[ofEmails.map(({ contactId }) => contactId), ofEmails.map(({ emailId }) => emailId)],
            ...[addressed.map(({ contactId }) => contactId), addressed.map(({ address }) => address)],
          ],
          outgoing.deadlineMs,
        ),
      ]);
      const refused = new Map(
        rows.flatMap(({ contact_id, reason }) =>
          reason ? [[Number(contact_id), wordOf(Number(reason))]] : [],
        ),
      );
      const uncategorised = new Set(rows.map(({ contact_id, email_id }) => `${contact_id} ${email_id}`));
      const said = new Map(answers.map((answer) => [answer.id, answer]));
      const isFresh = () => performance.now() - askedMs < GOOD_MS;
      return new Map(
        asked.flatMap((one) => {
          const { contactId, emailId } = one;
          const known = said.get(contactId);
          if (known === undefined) return [];
          const { refusal: answer, rule, limit, since } = known;
          const isLimit = answer === "" || LIMITS.has(answer);
          const category = isLimit && uncategorised.has(`${contactId} ${emailId}`) ? "category" : undefined;
          const refusal = refused.get(contactId) ?? category ?? answer;
          return [
            [one, { refusal, rule, since, limit: limit && startLimit(contactId, limit), isFresh }] as const,
          ];
        }),
      );
    },
    { atOnce: 4, itemsMax: ASKED_MAX },
  );
  return async (channel, contactId, emailId, address) => {
    const asking = { channel, contactId, emailId, address };
    const answer = (await ask(channel, asking)).get(asking);
    if (!answer) throw new Error(`nothing was said of contact ${contactId}`);
    return answer;
  };
}

function startLimit(contactId: number, { messagesMax, after }: FrequencyLimit): StartLimit {
  return { subject: contactId, jobsMax: messagesMax, afterMs: after ? timestampMs(after) : 0 };
}

/** A reason in the words of the contact service. */
function wordOf(reason: number): string {
  return reason === RefusalReason.BOUNCED ? "bounced" : "unsubscribed";
}
