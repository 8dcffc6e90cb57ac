import { type Kysely, sql } from "kysely";
import type { Migration } from "kysely/migration";
import { statements } from "./statements.ts";

/** Tables of every schema: outbox, inbox and dead letters of events, and answers to calls that may come again. */
export const messagingMigrations: Record<string, Migration> = {
  "0000_messaging": { up: createMessaging },
  // The actor of the event: {kind, id, name}; null for work without a caller.
  "0000_messaging_actor": statements("alter table outbox add column actor jsonb"),
  // Unpublished events, beside the events themselves: a mark in the event's own row would copy it.
  "0000_messaging_waiting": statements(
    `create table outbox_waiting (
      id bigint primary key, xid xid8 not null default pg_current_xact_id(), created_at timestamptz not null default now()
    ) with (autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_scale_factor = 0)`,
    "comment on column outbox.published_at is 'null in events of a version before this one: the relay takes them over'",
  ),
  // With which database the stream goes, and how far it was: of streams that are read, too.
  "0000_messaging_streams": statements(
    "alter table relay_stream add column incarnation text, add column last_seq bigint not null default 0",
  ),
  // An operator can have a dead-lettered event handled again.
  "0000_messaging_retries": statements(
    "alter table dead_letter add column retry_at timestamptz",
    "create index dead_letter_retry_at on dead_letter (consumer, id) where retry_at is not null",
  ),
  // The latest version that reads a durable, and when a process of it was last there.
  "0000_messaging_readers": statements(
    `create table durable_readers (
      durable text primary key, version integer[] not null, seen_at timestamptz not null default now(),
      -- An earlier version read the durable after a later one.
      has_fallen boolean not null
    )`,
  ),
  // Answers to calls with an idempotency key, sealed. A partition for each of three days, in turn: today's, yesterday's, and one to be emptied.
  "0000_kept_answers": statements(
    `create table kept_answers (slot smallint not null, id bytea not null, sealed bytea not null, primary key (slot, id))
     partition by list (slot)`,
    "alter table kept_answers alter column sealed set storage external",
    ...[0, 1, 2].map(
      (slot) =>
        `create table kept_answers_${slot} partition of kept_answers for values in (${slot}) with (toast_tuple_target = 8160)`,
    ),
    // Takes the key until the transaction ends, and answers what is kept under it; no row while another transaction has it. The second statement
    // sees what was committed before the first had the key.
    `create function claim_kept_answer(lock bigint, of bytea) returns setof bytea language plpgsql as $$
     declare
       today integer := extract(epoch from now())::bigint / 86400;
     begin
       if pg_try_advisory_xact_lock(lock) then
         return query select (select sealed from kept_answers
           where id = of and slot in (mod(today, 3), mod(today + 2, 3)));
       end if;
     end $$`,
    // A process may not truncate tables, so a function of the schema's owner does it: this one, and no other.
    `create function forget_kept_answers() returns void language plpgsql security definer
     set search_path from current set lock_timeout = '1s' as $$
     declare
       old text := 'kept_answers_' || mod(extract(epoch from now())::bigint / 86400 + 1, 3);
       has_rows boolean;
     begin
       execute format('select exists (select from %I)', old) into has_rows;
       if has_rows then execute format('truncate %I', old); end if;
     end $$`,
  ),
  // Keys are claimed without waiting for that: one that is taken fails the transaction, and with it all that follows. Processes of a version
  // before this one call claim_kept_answer.
  "0000_kept_answers_claims": statements(
    `create function claim_keys(locks bigint[], keys bytea[]) returns void language plpgsql as $$
     declare
       today integer := extract(epoch from now())::bigint / 86400;
     begin
       -- The second statement sees what was committed before the first had the keys.
       if (select bool_and(pg_try_advisory_xact_lock(lock)) from unnest(locks) as lock) then
         if not exists (select from kept_answers where id = any (keys) and slot in (mod(today, 3), mod(today + 2, 3)))
         then return; end if;
       end if;
       raise exception using errcode = 'TDK01', message = 'an idempotency key is taken';
     end $$`,
  ),
};

async function createMessaging(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table outbox (
      id bigint generated always as identity primary key,
      event_id uuid not null default gen_random_uuid(),
      subject text not null,
      aggregate_id integer not null,
      aggregate_version integer not null,
      payload bytea not null,
      traceparent text,
      created_at timestamptz not null default now(),
      xid xid8 not null default pg_current_xact_id(),
      published_at timestamptz
    )`.execute(db);
  await sql`create index outbox_unpublished on outbox (id) where published_at is null`.execute(db);
  // One row a stream: when it was made. A stream that is younger than this was lost and is filled again.
  await sql`
    create table relay_stream (
      name text primary key,
      created_at timestamptz not null
    )`.execute(db);
  await sql`
    create table inbox (
      consumer text not null,
      event_id uuid not null,
      processed_at timestamptz not null default now(),
      primary key (consumer, event_id)
    )`.execute(db);
  await sql`create index inbox_processed_at on inbox using brin (processed_at)`.execute(db);
  await sql`
    create table dead_letter (
      id bigint generated always as identity primary key,
      consumer text not null,
      event_id text not null,
      subject text not null,
      payload bytea not null,
      headers jsonb not null,
      error text not null,
      attempts integer not null,
      created_at timestamptz not null default now(),
      unique (consumer, event_id)
    )`.execute(db);
}
