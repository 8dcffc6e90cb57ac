import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { type Found, sendFinder } from "../callback/find-sends.ts";
import { recounted } from "../send/ledger-rows.ts";
import { type Refusal, RefusalReason } from "../send/refusals.ts";
import { SendState } from "../send/send-tables.ts";
import { SMS_FACTS } from "../text/sms-facts.ts";
import type { ReportKind, TextReport } from "./text-event.ts";

export interface Recording {
  transaction: Transaction;
  outbox: Outbox;
  provider: string;
}

const COMMENTS_LENGTH_MAX = 200;
/** The largest code that a row of the ledger holds. */
const CODE_MAX = 32_767;

const findSends = sendFinder({
  table: "text_sends",
  address: "s.address",
  item: "sms_id",
  columns:
    "undelivered, extract(epoch from date_undelivered) * 1000 as undelivered_at, extract(epoch from date_delivered) * 1000 as delivered_at, reason, code",
  formOf: (address) => address,
});
/**
 * A provider that has the message proves that it went out, also of a send that waits: its API had answered that it took nothing. A process that hands it over
 * still has lost it: the token is another one.
 */
const changeStatement = prepared(
  "text_sends_reported",
  `with changes as (
     select c.*, s.id, case when c.is_taken and s.state = any (array['waiting', 'started', 'unknown']) then 'sent'
       when c.is_undelivered and not c.is_taken and s.state = 'unknown' then 'failed' end as settled
     from unnest($1::uuid[], $2::text[], $3::float8[], $4::float8[], $5::text[], $6::smallint[], $7::boolean[], $8::boolean[])
       as c (hash, undelivered, undelivered_at, delivered_at, reason, code, is_undelivered, is_taken)
     join text_sends s on s.hash = c.hash
   ), changed as (
     update text_sends s set version = s.version + (c.is_undelivered or c.settled is not null)::integer, undelivered = c.undelivered,
       date_undelivered = to_timestamp(c.undelivered_at / 1000), date_delivered = to_timestamp(c.delivered_at / 1000), reason = c.reason, code = c.code,
       state = coalesce(c.settled, s.state), lease_token = s.lease_token + (c.settled is not null)::integer,
       date_sent = case when c.settled = 'sent' then coalesce(s.date_sent, s.started_at, now()) else s.date_sent end
     from changes c where s.id = c.id
     returning s.*, c.settled, c.is_undelivered
   ), ${recounted("changed")} counted as (
     update smses m set sent_count = m.sent_count + c.sent
     from (select sms_id, count(*)::integer as sent from changed where settled = 'sent' group by sms_id order by sms_id) c
     where m.id = c.sms_id)
   select settled, is_undelivered, ${SMS_FACTS.columns} from changed`,
);

/** Takes reports, in the order of their times. Answers those that are about a send or a contact of ours, and the refusals that follow. */
export async function recordReports(
  recording: Recording,
  reports: TextReport[],
): Promise<{ kinds: ReportKind[]; refusals: Refusal[] }> {
  const { transaction, provider } = recording;
  const found = await findSends(transaction, reports);
  const matched = reports.flatMap((report, index) => {
    const of = found[index];
    return of ? [{ ...report, of }] : [];
  });
  await change(recording, matched);
  return {
    kinds: matched.map(({ kind }) => kind),
    refusals: matched.flatMap((report) => refusalOf(report, provider)),
  };
}

interface Matched extends TextReport {
  of: Found;
}

interface Change {
  undelivered: string | null;
  undeliveredAt: number | null;
  deliveredAt: number | null;
  reason: string | null;
  code: number | null;
  isUndelivered: boolean;
  isTaken: boolean;
}

async function change({ transaction, outbox }: Recording, matched: Matched[]): Promise<void> {
  const changes = new Map<string, Change>();
  for (const report of matched) {
    const { send } = report.of;
    if (!send?.hash) continue;
    changes.set(send.hash, changedBy(changes.get(send.hash) ?? asItIs(send), report));
  }
  if (changes.size === 0) return;
  const column = <K extends keyof Change>(name: K) => [...changes.values()].map((values) => values[name]);
  const rows = await transaction.query(changeStatement, [
    [...changes.keys()],
    column("undelivered"),
    column("undeliveredAt"),
    column("deliveredAt"),
    column("reason"),
    column("code"),
    column("isUndelivered"),
    column("isTaken"),
  ]);
  const smses = await SMS_FACTS.itemsOf(
    transaction,
    rows.map(({ sms_id }) => Number(sms_id)),
  );
  const settled = (state: string) => rows.filter((row) => row.settled === state);
  const undelivered = rows.filter((row) => row.is_undelivered === "t" && row.state === SendState.SENT);
  outbox.append(transaction, [
    ...SMS_FACTS.events("sent", settled(SendState.SENT), smses),
    ...SMS_FACTS.events("failed", settled(SendState.FAILED), smses),
    ...SMS_FACTS.events("undelivered", undelivered, smses),
  ]);
}

const number = (text: string | null | undefined) => (text == null ? null : Number(text));

function asItIs({ undelivered, undelivered_at, delivered_at, reason, code }: Row): Change {
  return {
    undelivered: undelivered ?? null,
    undeliveredAt: number(undelivered_at),
    deliveredAt: number(delivered_at),
    reason: reason ?? null,
    code: number(code),
    isUndelivered: false,
    isTaken: false,
  };
}

function changedBy(before: Change, { kind, at, code, text }: TextReport): Change {
  switch (kind) {
    case "taken":
      return { ...before, isTaken: true };
    case "delivered":
      return { ...before, isTaken: true, deliveredAt: before.deliveredAt ?? at };
    default: {
      const undelivered = kind === "unsubscribe" ? "blocked" : kind;
      if (before.undelivered === "hard" && undelivered !== "hard") return before;
      return {
        ...before,
        ...{ undelivered, undeliveredAt: at, isUndelivered: true },
        ...{ reason: text || reasonOf(undelivered, code), code: code && code <= CODE_MAX ? code : null },
      };
    }
  }
}

function reasonOf(undelivered: string, code: number | undefined): string {
  return code === undefined ? undelivered : `${undelivered} (${code})`;
}

/** The contact is not written to again until its number is another one, or it says so. */
function refusalOf({ kind, code, text, of: { contactId, send } }: Matched, provider: string): Refusal[] {
  const channelId = send ? Number(send.sms_id) : undefined;
  const refusal = { contactId, channel: "sms" as const, channelId };
  if (kind === "unsubscribe")
    return [{ ...refusal, reason: RefusalReason.UNSUBSCRIBED, comments: `Unsubscribed (${provider}).` }];
  if (kind !== "hard") return [];
  const comments = (text || `Undelivered: ${reasonOf(kind, code)}`).slice(0, COMMENTS_LENGTH_MAX);
  return [{ ...refusal, reason: RefusalReason.BOUNCED, comments }];
}
