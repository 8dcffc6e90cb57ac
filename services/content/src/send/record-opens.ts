import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { coalesce } from "@tidings/runtime/coalesce";
import { FACT_COLUMNS, sendEvents } from "./record-sends.ts";

/** A person opened a mail. */
export interface Open {
  hash: string;
  inBrowser: boolean;
}

/** An open proves that a mail of unknown outcome was sent. */
const openStatement = prepared(
  "sends_open",
  `with opens as (
     select hash, count(*)::integer as times, bool_or(in_browser) as in_browser
     from unnest($1::uuid[], $2::boolean[]) as o (hash, in_browser) group by hash
   ), held as (
     select s.id, s.is_read, o.times, o.in_browser from sends s join opens o on o.hash = s.hash order by s.id for update of s
   ), opened as (
     update sends s set open_count = s.open_count + h.times, last_opened = now(), is_read = true, date_read = coalesce(s.date_read, now()),
       viewed_in_browser = s.viewed_in_browser or h.in_browser, version = s.version + 1,
       state = case s.state when 'unknown' then 'sent' else s.state end,
       date_sent = coalesce(s.date_sent, s.started_at)
     from held h where s.id = h.id
     returning s.*, not h.is_read as is_first
   ), counted as (
     update emails e set read_count = e.read_count + c.first,
       variant_read_count = e.variant_read_count + case when e.variant_start_date is null then 0 else c.first end
     from (select email_id, count(*)::integer as first from opened where is_first group by email_id order by email_id) c
     where e.id = c.email_id)
   select ${FACT_COLUMNS} from opened`,
);
const TOGETHER_MAX = 500;

export type RecordOpen = (open: Open) => Promise<void>;

/** Opens that come at the same time are committed together. One of an unknown send is nothing. */
export function openRecorder(database: Database, outbox: Outbox): RecordOpen {
  const record = coalesce(
    (opens: Open[]) =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const values = [opens.map(({ hash }) => hash), opens.map(({ inBrowser }) => inBrowser)];
        outbox.append(transaction, sendEvents("opened", await transaction.query(openStatement, values)));
      }),
    { itemsMax: TOGETHER_MAX },
  );
  return (open) => record("opens", open);
}
