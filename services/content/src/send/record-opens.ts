import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { coalesce } from "@tidings/runtime/coalesce";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, sendEvents } from "./send-facts.ts";

/** A person opened a mail, or answered it. */
export interface Open {
  hash: string;
  by: "picture" | "web view" | "reply";
}

/** An open proves that a mail of unknown outcome was sent. */
const openStatement = prepared(
  "sends_open",
  `with opens as (
     select hash, (count(*) filter (where by <> 'reply'))::integer as times, bool_or(by = 'web view') as in_browser,
       (count(*) filter (where by = 'reply'))::integer as replies
     from unnest($1::uuid[], $2::text[]) as o (hash, by) group by hash
   ), held as (
     select s.id, s.is_read, s.state, s.broadcast_id, o.times, o.in_browser, o.replies from sends s join opens o on o.hash = s.hash order by s.id for update of s
   ), opened as (
     update sends s set open_count = s.open_count + h.times, last_opened = case when h.times > 0 then now() else s.last_opened end, is_read = true, date_read = coalesce(s.date_read, now()),
       viewed_in_browser = s.viewed_in_browser or h.in_browser, version = s.version + 1,
       state = case s.state when 'unknown' then 'sent' else s.state end,
       date_sent = coalesce(s.date_sent, s.started_at)
     from held h where s.id = h.id
     returning s.*, h.times as opens, not h.is_read as is_first, h.state = 'unknown' as is_settled, h.replies
   ), replied as (
     insert into send_replies (send_hash) select hash from opened cross join lateral generate_series(1, replies)
   ), recounted as (
     update broadcasts b set counts = null from held h where b.id = h.broadcast_id and h.state = 'unknown'
   ), counted as (
     update emails e set read_count = e.read_count + c.first, sent_count = e.sent_count + c.settled,
       variant_read_count = e.variant_read_count + case when e.variant_start_date is null then 0 else c.first end,
       variant_sent_count = e.variant_sent_count + case when e.variant_start_date is null then 0 else c.settled end
     from (select email_id, (count(*) filter (where is_first))::integer as first, (count(*) filter (where is_settled))::integer as settled
       from opened where is_first or is_settled group by email_id order by email_id) c
     where e.id = c.email_id)
   select opens, is_settled, ${FACT_COLUMNS} from opened`,
);
const TOGETHER_MAX = 500;

/** Says whether there is such a send. */
export type RecordOpen = (open: Open) => Promise<boolean>;

/** Opens that come at the same time are committed together. One of an unknown send is nothing. */
export function openRecorder(database: Database, outbox: Outbox): RecordOpen {
  const record = coalesce(
    (opens: Open[]) =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const values = [opens.map(({ hash }) => hash), opens.map(({ by }) => by)];
        const rows = await transaction.query(openStatement, values);
        const emails = await emailsOfSends(transaction, idsOfEmails(rows));
        const settled = rows.filter(({ is_settled }) => is_settled === "t");
        outbox.append(transaction, [
          ...sendEvents("sent", settled, emails),
          ...sendEvents("opened", rows, emails),
        ]);
        return new Set(rows.map(({ hash }) => hash));
      }),
    { itemsMax: TOGETHER_MAX },
  );
  return async (open) => (await record("opens", open)).has(open.hash);
}
