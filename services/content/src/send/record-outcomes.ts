import type { Database } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { type Claimed, leases } from "@tidings/jobs/queue";
import type { Result } from "@tidings/jobs/work";
import type { DomainEvent, Outbox } from "@tidings/messaging/outbox";
import type { SendOutcome } from "./hand-over.ts";
import { SendState } from "./send-tables.ts";

export interface RecordOptions {
  database: Database;
  outbox: Outbox;
  /** Called once marketing messages are due in their next channel. */
  wake(): void;
}

const REASON_LENGTH_MAX = 1_000;
/** States whose sends have events: nothing becomes of them any more. */
const DECIDED = [SendState.SENT, SendState.FAILED, SendState.SUPPRESSED] as const;

/**
 * The queries `outcome` and `recorded` of a statement that records what became of mails of a table, with the values of `outcomeValues` and `more` assignments. A worker
 * that was paused through its lease changes nothing: its token is not the latest any more.
 */
export function recordedRows(table: string, more: string[] = []): string {
  return `outcome as (
     select * from unnest($1::bigint[], $2::integer[], $3::text[], $4::float8[], $5::smallint[], $6::text[], $7::text[], $8::boolean[])
       as o (id, lease_token, state, delay_seconds, code, reason, address, is_attempt)
   ), recorded as (
     update ${table} s set state = o.state, due_at = now() + o.delay_seconds * interval '1 second', leased_until = null, code = o.code, reason = o.reason,
       address = coalesce(s.address, o.address), attempts = s.attempts + o.is_attempt::integer,
       started_at = case when o.state = 'waiting' then null else s.started_at end,
       ${["date_sent = case when o.state = 'sent' then clock_timestamp() end", ...more].join(", ")}
     from outcome o
     where s.id = o.id and s.lease_token = o.lease_token and lower(s.state) in ('waiting', 'started')
     returning s.*
   )`;
}

export function outcomeValues(results: Result<Claimed, SendOutcome>[]): unknown[] {
  const outcomes = results.map(({ outcome }) => outcome);
  return [
    ...leases(results.map(({ job }) => job)),
    outcomes.map(({ state }) => state),
    outcomes.map(({ delaySeconds }) => delaySeconds),
    outcomes.map(({ code }) => code ?? null),
    outcomes.map(({ reason }) => reason?.slice(0, REASON_LENGTH_MAX) ?? null),
    outcomes.map(({ address }) => address ?? null),
    outcomes.map(({ isAttempt }) => isAttempt),
  ];
}

/** The events of recorded sends that are decided. */
export function eventsOfDecided(
  rows: Row[],
  eventsOf: (state: (typeof DECIDED)[number], rows: Row[]) => DomainEvent[],
): DomainEvent[] {
  return DECIDED.flatMap((state) =>
    eventsOf(
      state,
      rows.filter((row) => row.state === state),
    ),
  );
}
