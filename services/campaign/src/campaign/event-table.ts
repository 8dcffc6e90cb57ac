import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Campaign } from "@tidings/proto/tidings/campaign/v1/campaign";
import type { Changed } from "@tidings/resource/repository-options";

const removeStatement = prepared(
  "campaign_events_remove",
  `delete from campaign_events where campaign_id = any($1::integer[]) and id <> all ($2::integer[])`,
);
const keepStatement = prepared(
  "campaign_events_keep",
  `insert into campaign_events (id, campaign_id, name, type, event_type, level, parent_id, decision_path, channel, channel_id)
   select e.id, c.id, e.name, e.type, e.event_type, e."order", (e.parent ->> 'id')::integer, e.decision_path, e.channel,
     e.channel_id
   from campaigns c cross join lateral jsonb_to_recordset(c.events) as e (id integer, name text, type text,
     event_type text, "order" integer, parent jsonb, decision_path text, channel text, channel_id integer)
   where c.id = any($1::integer[]) order by e.id
   on conflict (id) do update set name = excluded.name, type = excluded.type, event_type = excluded.event_type,
     level = excluded.level, parent_id = excluded.parent_id, decision_path = excluded.decision_path,
     channel = excluded.channel, channel_id = excluded.channel_id`,
);

/** Keeps the index of events in step with the campaigns they are written in: to be called after those are. */
export function followEvents(transaction: Transaction, changes: Changed<Campaign>[]): void {
  const written = changes.flatMap(({ before, after }) =>
    after && (before?.events.length || after.events.length) ? [after] : [],
  );
  const gone = changes.flatMap(({ before, after }) => (before && !after ? [before.id] : []));
  const ids = [...written.map(({ id }) => id), ...gone];
  if (ids.length === 0) return;
  const kept = written.flatMap(({ events }) => events.map(({ id }) => id));
  transaction.execute(removeStatement, [ids, kept]);
  if (written.length > 0) transaction.execute(keepStatement, [written.map(({ id }) => id)]);
}
