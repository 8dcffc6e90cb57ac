import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";

const statement = prepared(
  "campaign_event_logs_unschedule",
  `with stopped as (
     update campaign_event_logs l set is_scheduled = false, trigger_date = null
     from unnest($1::integer[], $2::integer[], $3::integer[]) as m (campaign_id, contact_id, rotation)
     where l.contact_id = m.contact_id and l.campaign_id = m.campaign_id and l.rotation = m.rotation and l.is_scheduled
     returning l.id)
   insert into campaign_event_failures (log_id, date_added, reason)
   select id, now(), 'contact was removed from campaign on ' || to_char(now() at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')
   from stopped
   on conflict (log_id) do update set date_added = excluded.date_added, reason = excluded.reason`,
);

/** Cancels the scheduled events of ended memberships (rows with campaign, contact and rotation), with the reason. */
export function unschedule(transaction: Transaction, ended: Row[]): void {
  if (ended.length === 0) return;
  transaction.execute(statement, [
    ended.map((row) => row.campaign_id),
    ended.map((row) => row.contact_id),
    ended.map((row) => row.rotation),
  ]);
}
