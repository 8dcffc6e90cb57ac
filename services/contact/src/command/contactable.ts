import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import { addressOf, refusedAddress } from "../contact/refused-address.ts";
import { reasonsOf, type SuppressionKey } from "../contact/suppression.ts";

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
        `select asked.id as asked_id, c.id, coalesce(c.do_not_contact -> $2 ->> 'reason', ${refusedAddress(channel)}) as reason,
           ${addressOf(channel)} as address,
           (select exists (select from suppressions)) as has_suppressions,
           coalesce((rule ->> 'pauseFromDate')::timestamptz <= now()
             and now() <= (rule ->> 'pauseToDate')::timestamptz, false) as is_paused,
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
    const addresses = rows.map(({ reason, address }) => (reason ? null : address));
    const reasons = await reasonsOf(ask, { channel, addresses }, key);
    for (const [index, row] of rows.entries()) row.reason ??= reasons[index]?.toString() ?? null;
  }
  return rows.map((row) => ({
    id: Number(row.asked_id),
    refusal: refusalOf(row),
    ...(row.has_rule === "t" && {
      rule: { isPreferred: row.is_preferred === "t", perMonth: Number(row.per_month) },
    }),
    ...(row.messages_max && {
      limit: { messagesMax: Number(row.messages_max), after: timestampFromText(row.since ?? "") },
    }),
  }));
}

/** A no comes before a limit. */
function refusalOf(row: Record<string, string | null>): string {
  if (row.id === null) return "not_found";
  if (row.reason) return REASONS[Number(row.reason)] ?? "manual";
  if (row.is_paused === "t") return "paused";
  return row.is_frequent === "t" ? "frequency" : "";
}
