import { DEFINITION_TABLES } from "@tidings/contacts/definitions";
import type { Migrations } from "@tidings/database/migrate";
import { statements } from "@tidings/database/statements";
import { PROJECTIONS_BESIDE } from "@tidings/projection/beside";
import { CONTACT_FATES } from "@tidings/projection/contact-fates";
import { CATEGORIES_TABLE, PROJECTION_TABLES } from "@tidings/projection/tables";
import { type Kysely, sql } from "kysely";

/**
 * Says whether a missing owner is still to be replicated or was deleted. It was deleted where an event named it, or where its id is one of
 * those that the projection was made from: no event comes of an owner that was gone by then.
 */
const OWNERS_TO_COME = [
  `create function is_told(kind text, id integer) returns boolean stable
    return exists (select from projected_versions v where v.kind = is_told.kind and v.id = is_told.id)
      or exists (select from projection_builds b
        where b.name = is_told.kind and b.done_at is not null and b.after_id >= is_told.id)`,
  `create or replace view webhook_owners as
    select w.id as webhook_id, u.id as user_id,
      coalesce(case when w.created_by is not null then u.is_published and not u.is_deleted
        else not c.is_deleted end, false) as is_active,
      coalesce(r.is_admin, false) as is_admin, coalesce(r.permissions, '{}') as permissions,
      coalesce(r.is_admin or r.permissions -> 'lead:leads' ?| array['full', 'view', 'viewown', 'viewother'], false)
        as may_view,
      case
        when r.id is not null then false
        when w.created_by is not null and u.id is null then not is_told('users', w.created_by)
        when w.created_by is null and w.owner_client_id is not null and c.id is null
          then not is_told('clients', w.owner_client_id)
        when coalesce(u.role_id, c.role_id) is not null then not is_told('roles', coalesce(u.role_id, c.role_id))
        else false end as is_to_come
    from webhooks w
    left join users u on u.id = w.created_by
    left join clients c on c.id = w.owner_client_id and w.created_by is null
    left join roles r on r.id = coalesce(u.role_id, c.role_id) and r.is_published and not r.is_deleted`,
];

export const migrations: Migrations = {
  "0001_webhooks": { up: createWebhooks },
  "0002_deliveries": { up: createDeliveries },
  "0003_owners": { up: createOwners },
  "0004_projections": statements(
    ...PROJECTION_TABLES,
    // Deleted entities have a version from now on, and no row.
    ...["users", "roles", "clients"].flatMap((table) => [
      `insert into projected_versions (kind, id, version) select '${table}', id, version from ${table}`,
      `delete from ${table} where is_deleted`,
    ]),
  ),
  "0005_categories": statements(CATEGORIES_TABLE, "alter table webhooks add column category_id integer"),
  "0006_owners_to_come": statements(...OWNERS_TO_COME),
  // Since when a webhook asks for each of its triggers. Rows of older replicas have none: then since the webhook was made.
  "0007_triggers_since": statements("alter table webhooks add column triggers_since jsonb"),
  "0008_deferral": statements(
    // Deliveries of failing webhooks that are made later: one row for all webhooks with the same body.
    `create table deferred_deliveries (
      id bigint generated always as identity primary key,
      event_id uuid not null,
      body text not null,
      traceparent text,
      webhook_ids integer[] not null,
      created_at timestamptz not null default now()
    )`,
    // The last row of which each deferred webhook has its delivery.
    "create table deferred_webhooks (webhook_id integer primary key, after_id bigint not null)",
  ),
  "0009_projections_beside": statements(...PROJECTIONS_BESIDE),
  "0010_definitions": statements(...DEFINITION_TABLES),
  "0011_contact_fates": statements(...CONTACT_FATES),
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

/** Owners of webhooks and their rights: replicas of users, roles and API credentials. */
async function createOwners(db: Kysely<unknown>): Promise<void> {
  await sql`alter table webhooks add column signature_scheme text, add column owner_client_id integer`.execute(
    db,
  );
  for (const table of ["users", "roles", "clients"])
    await sql`
      create table ${sql.table(table)} (
        id integer primary key,
        version integer not null,
        -- A deleted entity keeps its row, so that an older event does not bring it back.
        is_deleted boolean not null default false
      )`.execute(db);
  await sql`alter table users add column role_id integer, add column is_published boolean not null default false`.execute(
    db,
  );
  await sql`alter table clients add column role_id integer`.execute(db);
  await sql`
    alter table roles add column is_admin boolean not null default false,
      add column is_published boolean not null default false,
      add column permissions jsonb not null default '{}'`.execute(db);
  await sql`
    create view webhook_owners as
    select w.id as webhook_id, u.id as user_id,
      coalesce(case when w.created_by is not null then u.is_published and not u.is_deleted
        else not c.is_deleted end, false) as is_active,
      coalesce(r.is_admin, false) as is_admin, coalesce(r.permissions, '{}') as permissions,
      coalesce(r.is_admin or r.permissions -> 'lead:leads' ?| array['full', 'view', 'viewown', 'viewother'], false)
        as may_view
    from webhooks w
    left join users u on u.id = w.created_by
    left join clients c on c.id = w.owner_client_id and w.created_by is null
    left join roles r on r.id = coalesce(u.role_id, c.role_id) and r.is_published and not r.is_deleted`.execute(
    db,
  );
  // For webhooks that want their deliveries one after the other: the first of those that wait.
  await sql`create index deliveries_in_order on deliveries (webhook_id, id) where state = 'waiting'`.execute(
    db,
  );
}
