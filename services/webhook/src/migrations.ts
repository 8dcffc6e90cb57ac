import type { Migrations } from "@tidings/store/migrate";
import { type Kysely, sql } from "kysely";

export const migrations: Migrations = {
  "0001_webhooks": { up: createWebhooks },
  "0002_deliveries": { up: createDeliveries },
};

async function createWebhooks(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table webhooks (
      id integer generated always as identity primary key,
      is_published boolean not null,
      date_added timestamptz not null,
      created_by integer,
      created_by_user text,
      date_modified timestamptz,
      modified_by integer,
      modified_by_user text,
      name text not null,
      description text,
      webhook_url text not null,
      secret text not null,
      events_orderby_dir text,
      triggers jsonb not null,
      version integer not null default 1
    )`.execute(db);
  await sql`create index webhooks_name on webhooks (name, id)`.execute(db);
}

async function createDeliveries(db: Kysely<unknown>): Promise<void> {
  // One event for one webhook. There is no foreign key: a webhook with a long backlog can be deleted at once.
  await sql`
    create table deliveries (
      id bigint generated always as identity primary key,
      webhook_id integer not null,
      event_id uuid not null,
      -- The JSON text that is signed and sent, byte for byte the same at each attempt. Emptied once delivered.
      body text not null,
      traceparent text,
      -- waiting, delivered or failed
      state text not null default 'waiting',
      attempts integer not null default 0,
      -- When it may be claimed: a claim moves it past the end of its lease, a failure to the next attempt.
      next_at timestamptz not null default now(),
      -- Rises with each claim: who holds a lower one has lost the delivery.
      lease_token integer not null default 0,
      created_at timestamptz not null default now(),
      unique (webhook_id, event_id)
    )`.execute(db);
  await sql`
    create index deliveries_waiting on deliveries (webhook_id, next_at, id) where state = 'waiting'`.execute(
    db,
  );
  await sql`
    create table delivery_attempts (
      id bigint generated always as identity primary key,
      webhook_id integer not null,
      event_id uuid not null,
      attempt integer not null,
      status_code integer,
      error_code text,
      runtime_ms integer not null,
      note text,
      date_added timestamptz not null default now()
    )`.execute(db);
  await sql`create index delivery_attempts_webhook on delivery_attempts (webhook_id, id)`.execute(db);
  // Webhooks whose latest attempt failed, and since when none has succeeded.
  await sql`
    create table failing_webhooks (
      webhook_id integer primary key,
      failing_since timestamptz not null
    )`.execute(db);
}
