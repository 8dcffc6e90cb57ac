import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Hit } from "../visit/hit.ts";
import { NOTIFICATION_FACTS } from "./notification-kind.ts";

/** A notification that was seen, by a click where there is one. */
export interface NotificationRead {
  hash: string;
  at: number;
  /** The address that it was seen from, as it is kept. */
  ip: string;
  click?: { ip: string; userAgent: string };
}

const CLICKS_KEPT = 20;

/** A read proves that a notification of unknown outcome was sent. One that was read before is changed by a click alone. */
const readStatement = prepared(
  "notification_sends_read",
  `with reported as materialized (
     select * from json_to_recordset($1::json) as r (hash uuid, read_at timestamptz, clicks integer, details jsonb, ip text)
   ), read as (
     select s.id, s.state, s.date_read is null as is_first, r.read_at, r.clicks, r.details, r.ip
     from reported r join notification_sends s on s.hash = r.hash
     where s.hash = any (array(select hash from reported)) and (s.date_read is null or r.clicks > 0)
     order by s.id + 0 for update of s
   ), changed as (
     update notification_sends s set version = s.version + 1, date_read = coalesce(s.date_read, r.read_at), ip = coalesce(s.ip, nullif(r.ip, '')),
       state = case s.state when 'unknown' then 'sent' else s.state end,
       date_sent = case s.state when 'unknown' then s.started_at else s.date_sent end,
       is_clicked = s.is_clicked or r.clicks > 0, click_count = s.click_count + r.clicks,
       date_clicked = case when r.clicks > 0 then coalesce(s.date_clicked, r.read_at) else s.date_clicked end,
       last_clicked = case when r.clicks > 0 then r.read_at else s.last_clicked end,
       click_details = case when jsonb_array_length(s.click_details) < ${CLICKS_KEPT} then s.click_details || r.details else s.click_details end
     from read r where s.id = r.id and s.id = any (array(select id from read))
     returning s.*, r.is_first, r.state = 'unknown' as is_proof
   ), counted as (
     update notifications n set read_count = n.read_count + c.read, sent_count = n.sent_count + c.sent
     from (select notification_id, count(*) filter (where is_first)::integer as read, count(*) filter (where is_proof)::integer as sent
           from changed group by notification_id order by notification_id) c
     where n.id = c.notification_id
   )
   select is_proof, ${NOTIFICATION_FACTS.columns} from changed`,
);

/** Records reads of notifications as a part of a transaction. */
async function recordReadsIn(
  transaction: Transaction,
  outbox: Outbox,
  reads: NotificationRead[],
): Promise<void> {
  if (reads.length === 0) return;
  const byHash = Map.groupBy(reads, ({ hash }) => hash);
  const rows = [...byHash].map(([hash, some]) => {
    const clicks = some.flatMap(({ at, click }) => (click ? [{ datetime: timeOf(at), ...click }] : []));
    return {
      hash,
      read_at: timeOf(some[0]?.at ?? 0),
      clicks: clicks.length,
      details: clicks.slice(0, CLICKS_KEPT),
      ip: some[0]?.ip ?? "",
    };
  });
  const changed = await transaction.query(readStatement, [JSON.stringify(rows)]);
  const { itemsOf, events } = NOTIFICATION_FACTS;
  const items = await itemsOf(
    transaction,
    changed.map(({ notification_id }) => Number(notification_id)),
  );
  const proven = changed.filter(({ is_proof }) => is_proof === "t");
  outbox.append(transaction, [...events("sent", proven, items), ...events("read", changed, items)]);
}

export function recordReads(
  { database, outbox }: { database: Database; outbox: Outbox },
  reads: NotificationRead[],
): Promise<void> {
  return database.transaction(
    backgroundDeadline(),
    (transaction) => recordReadsIn(transaction, outbox, reads),
    { byIndex: true },
  );
}

/** Records the clicks in notifications that are among hits. Machines read no notification. */
export async function recordClicks(transaction: Transaction, outbox: Outbox, hits: Hit[]): Promise<void> {
  const reads = hits.flatMap(({ source, sendHash, redirectId, verdict, at, ip, userAgent }) =>
    source === "notification" && sendHash && redirectId !== undefined && verdict !== "machine"
      ? [{ hash: sendHash, at, ip, click: { ip, userAgent } }]
      : [],
  );
  await recordReadsIn(transaction, outbox, reads);
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}
