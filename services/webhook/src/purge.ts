import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { purgeInSlices } from "@tidings/messaging/purge";
import type { Log } from "@tidings/runtime/log";
import { atEachTick } from "@tidings/runtime/tick";

const INTERVAL_MS = 60_000;
const SLICE = 1_000;
const ATTEMPTS_KEPT = 1_000;

/** Only the oldest slice is looked at, in key order. What is still waiting after a week has had its last attempt. */
const purgeOld = prepared(
  "purge_deliveries",
  `with oldest as (select id, created_at from deliveries order by id limit ${SLICE})
   delete from deliveries using oldest
   where deliveries.id = oldest.id and oldest.created_at < now() - interval '7 days'
   returning 1`,
);

/** Rows of which every deferred webhook has its delivery, and rows older than a week. */
const purgeDeferred = prepared(
  "purge_deferred",
  `with oldest as (select id, created_at from deferred_deliveries order by id limit ${SLICE}),
     made as (select coalesce(min(after_id), (select max(id) from oldest)) as id from deferred_webhooks)
   delete from deferred_deliveries d using oldest, made
   where d.id = oldest.id and (oldest.id <= made.id or oldest.created_at < now() - interval '7 days')
   returning 1`,
);

const purgeAttempts = prepared(
  "purge_attempts",
  `delete from delivery_attempts where id = any(array(
     select old.id from webhooks w cross join lateral (
       select id from delivery_attempts where webhook_id = w.id order by id desc offset ${ATTEMPTS_KEPT}
     ) old limit ${SLICE}))
   returning 1`,
);

const forget = (table: string) =>
  prepared(
    `forget_${table}`,
    `delete from ${table} where ctid = any(array(
       select ctid from ${table} where webhook_id = any($1::integer[]) limit ${SLICE}))
     returning 1`,
  );
const forgetDeliveries = forget("deliveries");
const forgetAttempts = forget("delivery_attempts");
const forgetFailing = forget("failing_webhooks");
const forgetDeferred = forget("deferred_webhooks");

/** Deleted webhooks with rows left behind: the process that deleted them died before. */
const orphansStatement = prepared(
  "purge_orphans",
  `with recursive owner(id) as (
     (select webhook_id from deliveries order by webhook_id limit 1)
     union all
     select (select webhook_id from deliveries where webhook_id > owner.id order by webhook_id limit 1)
     from owner where owner.id is not null
   ), attempted(id) as (
     (select webhook_id from delivery_attempts order by webhook_id limit 1)
     union all
     select (select webhook_id from delivery_attempts where webhook_id > attempted.id order by webhook_id limit 1)
     from attempted where attempted.id is not null
   )
   select known.id from (select id from owner union select id from attempted union select webhook_id from failing_webhooks
     union select webhook_id from deferred_webhooks)
     as known(id)
   where known.id is not null and not exists (select from webhooks w where w.id = known.id)`,
);

/**
 * Removes deliveries of a week ago, of each webhook the attempts before its latest thousand, and what deleted webhooks left.
 */
export async function purgeDeliveries(database: Database): Promise<void> {
  const orphans = await database.query(orphansStatement, [], backgroundDeadline());
  if (orphans.length > 0)
    await forgetWebhooks(
      database,
      orphans.map(({ id }) => Number(id)),
    );
  await purgeInSlices(database, purgeOld, SLICE);
  await purgeInSlices(database, purgeDeferred, SLICE);
  await purgeInSlices(database, purgeAttempts, SLICE);
}

/** Purges now and every minute. */
export function startPurging(database: Database, log: Log): { stop(): Promise<void> } {
  const purge = () =>
    purgeDeliveries(database).catch((error) => log.warn({ err: error }, "deliveries could not be purged"));
  return atEachTick(INTERVAL_MS, purge, { atOnce: true });
}

/** Removes what belongs to deleted webhooks, in slices: a backlog may be long. */
export async function forgetWebhooks(database: Database, webhookIds: number[]): Promise<void> {
  for (const statement of [forgetDeferred, forgetDeliveries, forgetAttempts, forgetFailing]) {
    await purgeInSlices(database, statement, SLICE, [webhookIds]);
  }
}
