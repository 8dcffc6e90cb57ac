import { type Kysely, sql } from "kysely";

export async function createNotesAndDevices(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table notes (
      id integer generated always as identity primary key,
      version integer not null default 1,
      contact_id integer not null references contacts on delete cascade,
      text text not null,
      type text not null,
      date_time timestamptz not null,
      date_added timestamptz not null,
      created_by integer,
      created_by_user text,
      date_modified timestamptz,
      modified_by integer,
      modified_by_user text
    )`.execute(db);
  await sql`
    create table devices (
      id integer generated always as identity primary key,
      version integer not null default 1,
      contact_id integer not null references contacts on delete cascade,
      client_info jsonb,
      device text,
      device_brand text,
      device_model text,
      device_os_name text,
      device_os_short_name text,
      device_os_version text,
      device_os_platform text,
      date_added timestamptz not null
    )`.execute(db);
  // Read from either end: the latest first is what is asked for most.
  await sql`create index notes_of_contact on notes (contact_id, date_added nulls first, id)`.execute(db);
  await sql`create index notes_by_date_added on notes (date_added nulls first, id)`.execute(db);
  await sql`create index devices_of_contact on devices (contact_id, date_added nulls first, id)`.execute(db);
  await sql`create index devices_by_date_added on devices (date_added nulls first, id)`.execute(db);
}
