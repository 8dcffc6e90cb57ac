import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import type { SignatureScheme } from "./sign.ts";

/** A claimed delivery and what is needed to attempt it. */
export interface Delivery {
  id: string;
  webhookId: number;
  eventId: string;
  body: string;
  traceparent: string | undefined;
  /** Attempts made so far. */
  attempts: number;
  /** Proves that the delivery is still ours when its result is recorded. */
  leaseToken: number;
  url: string;
  /** As it is kept. */
  secret: string;
  scheme: SignatureScheme;
  /** The receiver failed the last time. */
  isFailing: boolean;
  /** The webhook wants its deliveries one after the other. */
  isOrdered: boolean;
}

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

export const LEASE_MS = 30_000;
const CLAIM_MAX = 500;
const LEASE = `interval '${LEASE_MS} milliseconds'`;

/**
 * For each webhook with due deliveries the first `$3` of them, or as many as `$1`, `$2` say for it (webhook ids, counts),
 * `$5` in all. Webhooks whose receivers fail come last, with one each; of the others those after the webhook `$4` come
 * first, so that none waits for another's backlog. Replicas skip what others are just claiming. Nothing is claimed for
 * owners who may not view contacts any more.
 */
const claim = prepared(
  "delivery_claim",
  `with recursive hook(id) as (
     (select webhook_id from deliveries where state = 'waiting' order by webhook_id limit 1)
     union all
     select (select webhook_id from deliveries where state = 'waiting' and webhook_id > hook.id order by webhook_id limit 1)
     from hook where hook.id is not null
   ), candidate as (
     select w.id as webhook_id, w.webhook_url, w.secret, w.signature_scheme, w.events_orderby_dir,
       f.webhook_id is not null as is_failing,
       least(coalesce(share.size, $3::integer), case when f.webhook_id is null then $3::integer else 1 end) as size
     from hook join webhooks w on w.id = hook.id and w.is_published
     join webhook_owners o on o.webhook_id = w.id and o.is_active and o.may_view
     left join failing_webhooks f on f.webhook_id = w.id
     left join unnest($1::integer[], $2::integer[]) as share(webhook_id, size) on share.webhook_id = w.id
     where coalesce(share.size, 1) > 0
   ), due as materialized (
     select row_number() over () as position, d.id, c.*
     from (select * from candidate order by is_failing, webhook_id <= $4::integer, webhook_id) c
     cross join lateral (
       select id from (
         select id from deliveries
         where webhook_id = c.webhook_id and state = 'waiting' and next_at <= now() and c.events_orderby_dir is null
         order by next_at, id limit c.size for update skip locked) as unordered
       union all
       select id from (
         select id from deliveries
         where id = (select id from deliveries where webhook_id = c.webhook_id and state = 'waiting' order by id limit 1)
           and state = 'waiting' and next_at <= now() and c.events_orderby_dir = 'ASC'
         for update skip locked) as ascending
       union all
       select id from (
         select id from deliveries
         where id = (select id from deliveries where webhook_id = c.webhook_id and state = 'waiting' order by id desc limit 1)
           and state = 'waiting' and next_at <= now() and c.events_orderby_dir = 'DESC'
           and not exists (select from deliveries b
             where b.webhook_id = c.webhook_id and b.state = 'waiting' and b.next_at > now())
         for update skip locked) as descending
     ) d
     limit $5::integer
   ), claimed as (
     update deliveries set next_at = now() + ${LEASE}, lease_token = lease_token + 1
     from due where deliveries.id = due.id
     returning due.*, event_id, body, traceparent, attempts, lease_token
   )
   select * from claimed order by position`,
);

const renew = prepared(
  "delivery_renew",
  `update deliveries set next_at = now() + ${LEASE}
   from unnest($1::bigint[], $2::integer[]) as held(id, lease_token)
   where deliveries.id = held.id and deliveries.lease_token = held.lease_token and state = 'waiting'
   returning deliveries.id`,
);

const release = prepared(
  "delivery_release",
  `update deliveries set next_at = now()
   from unnest($1::bigint[], $2::integer[]) as held(id, lease_token)
   where deliveries.id = held.id and deliveries.lease_token = held.lease_token and state = 'waiting'`,
);

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
     where d.id = o.id and d.lease_token = o.lease_token and d.state = 'waiting'
     returning d.webhook_id, d.event_id, d.attempts, o.*
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
   select recorded.id, recorded.webhook_id,
          coalesce(failing.failing_since < now() - interval '5 days', false) as is_dead
   from recorded left join failing on failing.webhook_id = recorded.webhook_id`,
);

export interface Claiming {
  /** How many more deliveries of single webhooks are wanted. */
  shares: Map<number, number>;
  /** The same for all others. */
  size: number;
  /** The webhook that was the last to be served. */
  after: number;
  /** Deliveries in all. */
  limit: number;
}

/**
 * Claims due deliveries in the order they are to be sent. Of a webhook that wants an order there is one out at a time: the
 * next one waits until that one was taken or given up, whichever process has it.
 */
export async function claimDeliveries(
  database: Database,
  { shares, size, after, limit }: Claiming,
): Promise<Delivery[]> {
  const values = [[...shares.keys()], [...shares.values()], size, after, Math.min(limit, CLAIM_MAX)];
  const rows = await database.query(claim, values, backgroundDeadline());
  return rows.map((row) => ({
    id: row.id ?? "",
    webhookId: Number(row.webhook_id),
    eventId: row.event_id ?? "",
    body: row.body ?? "",
    traceparent: row.traceparent ?? undefined,
    attempts: Number(row.attempts),
    leaseToken: Number(row.lease_token),
    url: row.webhook_url ?? "",
    secret: row.secret ?? "",
    scheme: row.signature_scheme === "body" ? "body" : "standard",
    isOrdered: row.events_orderby_dir !== null,
    isFailing: row.is_failing === "t",
  }));
}

/** Keeps deliveries for another lease. Answers the ids of those that are still ours. */
export async function renewLeases(database: Database, held: Delivery[]): Promise<Set<string>> {
  const rows = await database.query(renew, leases(held), backgroundDeadline());
  return new Set(rows.map((row) => row.id ?? ""));
}

/** Gives deliveries back that were not attempted. */
export async function releaseLeases(database: Database, held: Delivery[]): Promise<void> {
  await database.query(release, leases(held), backgroundDeadline());
}

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
  const rows = await database.transaction(backgroundDeadline(), (transaction) =>
    transaction.query(record, values),
  );
  return {
    recorded: new Set(rows.map((row) => row.id ?? "")),
    dead: new Set(rows.filter((row) => row.is_dead === "t").map((row) => Number(row.webhook_id))),
  };
}

function leases(held: Delivery[]): [string[], number[]] {
  return [held.map(({ id }) => id), held.map(({ leaseToken }) => leaseToken)];
}
