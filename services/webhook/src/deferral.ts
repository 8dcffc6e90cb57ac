import { backgroundDeadline, type Database, prepared, queryByIndex } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";

/**
 * Deferral bounds the deliveries that wait for failing webhooks. Instead of a delivery for each of them, an event adds one row to
 * `deferred_deliveries`, for all deferred webhooks with the same body. A webhook with a row in `deferred_webhooks` is deferred.
 * Its deliveries are made from those rows later, in the order of the events; `after_id` is the last row of which it has one.
 */

/** A failing webhook with so many waiting deliveries is deferred. A deferred webhook with fewer gets more. */
const WAITING_MAX = 10;
/** Rows that one transaction reads for a webhook that fails, and for one that works again. */
const SLICE_FAILING = WAITING_MAX;
const SLICE = 1_000;
/** Webhooks that get more deliveries in one pass. */
const PASS = 100;

const waitingOf = (webhookId: string) =>
  `(select count(*) from (select from deliveries d where d.webhook_id = ${webhookId} and d.state = 'waiting'
     limit ${WAITING_MAX}) as waiting)`;

/** The fan-out holds it shared while it defers events. A webhook that stops being deferred holds it exclusively. */
const lock = advisoryLock("deferral");

const beginStatement = prepared(
  "deferral_begin",
  // Materialized: nothing is counted for webhooks that are deferred already.
  `with failing as materialized (
     select f.webhook_id from failing_webhooks f
     where f.webhook_id = any((select $1::integer[])::integer[])
       and not exists (select from deferred_webhooks known where known.webhook_id = f.webhook_id)
   )
   insert into deferred_webhooks (webhook_id, after_id)
   select webhook_id, (select coalesce(max(id), 0) from deferred_deliveries) from failing
   where ${waitingOf("failing.webhook_id")} = ${WAITING_MAX}
   order by webhook_id
   on conflict do nothing`,
);
const readStatement = prepared(
  "deferral_read",
  "select webhook_id from deferred_webhooks where webhook_id = any((select $1::integer[])::integer[])",
);
const deferStatement = prepared(
  "deferral_defer",
  `insert into deferred_deliveries (event_id, body, traceparent, webhook_ids)
   select told.id, told.body, told.traceparent, array_agg(target.webhook_id)
   from unnest($1::uuid[], $2::text[], $3::text[]) with ordinality as told(id, body, traceparent, position)
   join unnest($4::integer[], $5::integer[]) as target(webhook_id, position) on target.position = told.position
   group by told.position, told.id, told.body, told.traceparent
   order by told.position`,
);

/** Defers failing webhooks, and returns which of these webhooks are deferred. The answer holds until the transaction ends. */
export async function readDeferred(transaction: Transaction, webhookIds: number[]): Promise<Set<number>> {
  lock.shared(transaction);
  transaction.execute(beginStatement, [webhookIds]);
  const rows = await transaction.query(readStatement, [webhookIds]);
  return new Set(rows.map(({ webhook_id }) => Number(webhook_id)));
}

/** Adds rows for deferred webhooks. `values`: event ids, bodies, traces, then webhook ids and the positions of their bodies. */
export function defer(transaction: Transaction, values: unknown[]): void {
  transaction.execute(deferStatement, values);
}

/** A webhook that works again and wants the latest event first gets all its deliveries at once. */
const dueStatement = prepared(
  "deferral_due",
  `select d.webhook_id, f.webhook_id is not null as is_failing
   from deferred_webhooks d join webhooks w on w.id = d.webhook_id
   left join failing_webhooks f on f.webhook_id = d.webhook_id
   where ($1::integer[] is null or d.webhook_id = any($1))
     and (${waitingOf("d.webhook_id")} < ${WAITING_MAX} or (f.webhook_id is null and w.events_orderby_dir = 'DESC'))
   order by d.webhook_id limit ${PASS}`,
);
const lockStatement = prepared(
  "deferral_lock",
  "select 1 from deferred_webhooks where webhook_id = $1 for update skip locked",
);
const makeStatement = prepared(
  "deferral_make",
  `with next as materialized (
     select id, event_id, body, traceparent, webhook_ids, created_at from deferred_deliveries
     where id > (select after_id from deferred_webhooks where webhook_id = $1) order by id limit $2
   ), made as (
     insert into deliveries (webhook_id, event_id, body, traceparent, created_at)
     select $1, event_id, body, traceparent, created_at from next where webhook_ids @> array[$1::integer] order by id
     on conflict do nothing
     returning 1
   ), moved as (
     update deferred_webhooks set after_id = (select max(id) from next)
     where webhook_id = $1 and exists (select from next)
   )
   select (select count(*) from next) as read, (select count(*) from made) as made`,
);
const endStatement = prepared("deferral_end", "delete from deferred_webhooks where webhook_id = $1");

/**
 * Makes more deliveries for deferred webhooks with few waiting ones: among `webhookIds`, or among all. A webhook without further
 * rows stops being deferred. Returns whether deliveries were made.
 */
export async function giveDeferred(database: Database, webhookIds?: number[]): Promise<boolean> {
  let isGiven = false;
  for (let isMore = true; isMore; ) {
    const due = await queryByIndex(database, dueStatement, [webhookIds ?? null]);
    let made = 0;
    for (const { webhook_id, is_failing } of due)
      made += await give(database, Number(webhook_id), is_failing === "t" ? SLICE_FAILING : SLICE);
    isGiven ||= made > 0;
    isMore = due.length === PASS && made > 0;
  }
  return isGiven;
}

function give(database: Database, webhookId: number, size: number): Promise<number> {
  const work = async (transaction: Transaction) => {
    const [locked] = await transaction.query(lockStatement, [webhookId]);
    if (!locked) return 0; // another process is at it
    const make = async () => {
      const [row] = await transaction.query(makeStatement, [webhookId, size]);
      return { read: Number(row?.read), made: Number(row?.made) };
    };
    const first = await make();
    if (first.read === size) return first.made;
    lock.exclusive(transaction);
    const last = await make();
    if (last.read < size) transaction.execute(endStatement, [webhookId]);
    return first.made + last.made;
  };
  return database.transaction(backgroundDeadline(), work, { byIndex: true });
}
