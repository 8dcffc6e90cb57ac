import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import { type Claimed, isWaiting, jobQueue, leases } from "@tidings/jobs/queue";
import { noteDelivered } from "./delivery-metrics.ts";
import type { SignatureScheme } from "./sign.ts";

/** A claimed delivery and what is needed to attempt it. Its group is the webhook. */
export interface Delivery extends Claimed {
  eventId: string;
  body: string;
  traceparent: string | undefined;
  url: string;
  /** As it is kept. */
  secret: string;
  scheme: SignatureScheme;
}

/**
 * Deliveries are jobs in a table of their own. Webhooks whose receivers fail come last; of one that wants an order there is
 * one delivery out at a time. Nothing is claimed for owners who may not view contacts any more.
 */
export const deliveryQueue = jobQueue<Delivery>({
  name: "delivery",
  table: "deliveries",
  where: "true",
  group: "webhook_id",
  due: "next_at",
  order: "next_at, id",
  columns: "event_id, body, traceparent",
  groups: `select w.id as group_id, f.webhook_id is not null as is_failing, w.events_orderby_dir as turn,
      w.webhook_url, w.secret, w.signature_scheme
    from waiting_group join webhooks w on w.id = waiting_group.id and w.is_published
    join webhook_owners o on o.webhook_id = w.id and o.is_active and o.may_view
    left join failing_webhooks f on f.webhook_id = w.id`,
  jobOf: (claimed, row) => ({
    ...claimed,
    eventId: row.event_id ?? "",
    body: row.body ?? "",
    traceparent: row.traceparent ?? undefined,
    url: row.webhook_url ?? "",
    secret: row.secret ?? "",
    scheme: row.signature_scheme === "body" ? "body" : "standard",
  }),
});

/** The result of one attempt. */
export interface Outcome {
  delivery: Delivery;
  state: "waiting" | "delivered" | "failed";
  /** Until the next attempt, when there is one. */
  delaySeconds: number;
  statusCode: number | null;
  errorCode: string | null;
  runtimeMs: number;
  /** The beginning of the answer. */
  note: string | null;
  /** The receiver wants no more (410). */
  isGone: boolean;
}

const record = prepared(
  "delivery_record",
  `with outcome as (
     select * from unnest($1::bigint[], $2::integer[], $3::text[], $4::float8[], $5::integer[], $6::text[],
                          $7::integer[], $8::text[])
       as o(id, lease_token, state, delay_seconds, status_code, error_code, runtime_ms, note)
   ), recorded as (
     update deliveries d
     set state = o.state, attempts = d.attempts + 1, next_at = now() + o.delay_seconds * interval '1 second',
         body = case when o.state = 'delivered' then '' else d.body end
     from outcome o
     where d.id = o.id and d.lease_token = o.lease_token and ${isWaiting("d.state")}
     returning d.webhook_id, d.event_id, d.attempts, d.created_at, o.*
   ), logged as (
     insert into delivery_attempts (webhook_id, event_id, attempt, status_code, error_code, runtime_ms, note)
     select webhook_id, event_id, attempts, status_code, error_code, runtime_ms, note from recorded
   ), recovered as (
     delete from failing_webhooks
     where webhook_id in (select webhook_id from recorded where state = 'delivered')
   ), failing as (
     insert into failing_webhooks (webhook_id, failing_since)
     select webhook_id, now() from recorded group by webhook_id having bool_and(state <> 'delivered')
     order by webhook_id
     on conflict (webhook_id) do update set failing_since = failing_webhooks.failing_since
     returning webhook_id, failing_since
   )
   select recorded.id, recorded.webhook_id, recorded.state, extract(epoch from now() - recorded.created_at) as age,
          coalesce(failing.failing_since < now() - interval '5 days', false) as is_dead
   from recorded left join failing on failing.webhook_id = recorded.webhook_id`,
);

/**
 * Records results, except for deliveries that were lost to somebody else meanwhile. `recorded` are the ids written,
 * `dead` the webhooks that have failed for five days.
 */
export async function recordOutcomes(
  database: Database,
  outcomes: Outcome[],
): Promise<{ recorded: Set<string>; dead: Set<number> }> {
  const values = [
    ...leases(outcomes.map(({ delivery }) => delivery)),
    outcomes.map(({ state }) => state),
    outcomes.map(({ delaySeconds }) => delaySeconds),
    outcomes.map(({ statusCode }) => statusCode),
    outcomes.map(({ errorCode }) => errorCode),
    outcomes.map(({ runtimeMs }) => runtimeMs),
    outcomes.map(({ note }) => note),
  ];
  const rows = await queryByIndex(database, record, values);
  for (const row of rows) if (row.state === "delivered") noteDelivered(Number(row.age));
  return {
    recorded: new Set(rows.map((row) => row.id ?? "")),
    dead: new Set(rows.filter((row) => row.is_dead === "t").map((row) => Number(row.webhook_id))),
  };
}
