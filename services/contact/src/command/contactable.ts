import { type Timestamp, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import { addressOf, refusedAddress } from "../contact/refused-address.ts";
import { type SuppressionKey, suppressionEntries } from "../contact/suppression.ts";
import type { DoNotContactEntry } from "../rows/contact.ts";

/** The rules of contacts without one of their own, by channel. */
export interface UsualFrequencies {
  email?: UsualFrequency | undefined;
  sms?: UsualFrequency | undefined;
}

interface UsualFrequency {
  frequencyNumber: number;
  /** DAY, WEEK or MONTH. */
  frequencyTime: string;
}

/** A do-not-contact entry, or a suppression, as JSON. */
type Entry = Pick<DoNotContactEntry, "reason" | "dateAdded">;

interface Asked {
  channel: string;
  ids: number[];
  usual: UsualFrequencies;
  key: SuppressionKey;
}

/** The answer about one contact. */
export interface ContactableAnswer {
  id: number;
  refusal: string;
  /** Its own rule of the channel, if it has one. */
  rule?: { isPreferred: boolean; perMonth: number };
  /** The sender counts what it begins, too: what is on its way is not known here yet. */
  limit?: { messagesMax: number; after: Timestamp };
  /** Since when it may not, where that is known. */
  since?: Timestamp;
}

/** Where the sends of a channel are, and when each was made. Channels without sends have no limit of frequency. */
const SENDS: Record<string, string> = {
  email: "select contact_id, date_sent as sent_at from email_sends where date_sent is not null",
  sms: "select contact_id, date_added as sent_at from sms_sends",
  notification: "select contact_id, date_added as sent_at from notification_sends where not is_mobile",
  tweet: "select contact_id, date_added as sent_at from tweet_sends",
  mobile_notification: "select contact_id, date_added as sent_at from notification_sends where is_mobile",
};

const REASONS = ["", "unsubscribed", "bounced", "manual"];

/**
 * `$1` ids, `$2` channel, `$3` the rule of contacts without one of their own. A pause is a rule with two dates; a limit counts the sends of the last day, week or month. One index look-up for
 * each contact with a limit.
 */
const statements = new Map(
  Object.entries({ ...SENDS, other: "select 0 as contact_id, now() as sent_at where false" }).map(
    ([channel, sends]) => [
      channel,
      prepared(
        `contactable_${channel}`,
        `select asked.id as asked_id, c.id, coalesce(c.do_not_contact -> $2, ${refusedAddress(channel)}) as entry,
           ${addressOf(channel)} as address,
           (select exists (select from suppressions)) as has_suppressions,
           coalesce((rule ->> 'pauseFromDate')::timestamptz <= now()
             and now() <= (rule ->> 'pauseToDate')::timestamptz, false) as is_paused, (rule ->> 'pauseFromDate')::timestamptz as paused_at,
           coalesce(messages_max <= (
             select count(*) from (${sends}) s where s.contact_id = c.id and s.sent_at > since), false) as is_frequent,
           messages_max, since,
           c.frequency_rules -> $2 is not null as has_rule, coalesce((rule ->> 'preferredChannel')::boolean, false) as is_preferred,
           coalesce(messages_max::float8 * 30 / case rule ->> 'frequencyTime' when 'WEEK' then 7 when 'MONTH' then 30 else 1 end, 0) as per_month
         from unnest($1::integer[]) with ordinality as asked (id, position)
         left join contact_redirects r on r.merged_id = asked.id
         left join contacts c on c.id = coalesce(r.contact_id, asked.id)
         left join lateral (select coalesce(c.frequency_rules -> $2, $3::jsonb) as rule) rules on true
         left join lateral (select (rule ->> 'frequencyNumber')::integer as messages_max,
           now() - ('1 ' || coalesce(rule ->> 'frequencyTime', 'DAY'))::interval as since) limits on true
         order by asked.position`,
      ),
    ],
  ),
);

/**
 * Says for each contact, in the order of the ids, why it may not receive a message of a channel now; "" when it may. A no of another contact
 * with the same address counts, and of one that is gone.
 */
export async function contactableOf(
  database: Database,
  { channel, ids, usual, key }: Asked,
  deadlineMs: number,
): Promise<ContactableAnswer[]> {
  const statement = statements.get(Object.hasOwn(SENDS, channel) ? channel : "other");
  if (!statement || ids.length === 0) return [];
  const rule = channel === "email" || channel === "sms" ? usual[channel] : undefined;
  const values = [ids, channel, rule ? JSON.stringify(rule) : null];
  const rows = await database.query(statement, values, deadlineMs);
  if (rows[0]?.has_suppressions === "t") {
    const ask = (...query: [Statement, unknown[]]) => database.query(...query, deadlineMs);
    // A contact that refuses needs no look-up.
    const addresses = rows.map(({ entry, address }) => (entry ? null : address));
    const entries = await suppressionEntries(ask, { channel, addresses }, key);
    for (const [index, row] of rows.entries()) row.entry ??= entries[index] ?? null;
  }
  return rows.map((row) => ({
    id: Number(row.asked_id),
    ...refusalOf(row),
    ...(row.has_rule === "t" && {
      rule: { isPreferred: row.is_preferred === "t", perMonth: Number(row.per_month) },
    }),
    ...(row.messages_max && {
      limit: { messagesMax: Number(row.messages_max), after: timestampFromText(row.since ?? "") },
    }),
  }));
}

/** A no comes before a limit. */
function refusalOf(row: Row): Pick<ContactableAnswer, "refusal" | "since"> {
  if (row.id === null) return { refusal: "not_found" };
  if (row.entry) {
    const { reason, dateAdded } = JSON.parse(row.entry) as Entry;
    return {
      refusal: REASONS[reason] ?? "manual",
      ...(dateAdded && { since: timestampFromDate(new Date(dateAdded)) }),
    };
  }
  if (row.is_paused === "t") return { refusal: "paused", since: timestampFromText(row.paused_at ?? "") };
  return { refusal: row.is_frequent === "t" ? "frequency" : "" };
}
