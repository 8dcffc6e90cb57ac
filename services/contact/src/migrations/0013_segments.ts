import { type Kysely, sql } from "kysely";

export async function createSegments(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table segments (
      id integer generated always as identity primary key,
      version integer not null default 1,
      is_published boolean not null default true,
      date_added timestamptz not null,
      created_by integer,
      created_by_user text,
      date_modified timestamptz,
      modified_by integer,
      modified_by_user text,
      name text not null,
      public_name text not null,
      alias text not null constraint segments_alias_key unique,
      description text,
      is_global boolean not null default true,
      is_preference_center boolean not null default false,
      category_id integer,
      filters jsonb not null default '[]'
    )`.execute(db);
  await sql`create index segments_by_name on segments (name, id)`.execute(db);

  // Every replica keeps the definitions; this says when to read them again.
  await sql`create table segment_revision (revision integer not null)`.execute(db);
  await sql`insert into segment_revision values (1)`.execute(db);
  await sql`
    create function bump_segment_revision() returns trigger language plpgsql as $$
    begin
      update segment_revision set revision = revision + 1;
      return null;
    end $$`.execute(db);
  await sql`
    create trigger segments_changed after insert or update or delete on segments
    for each statement execute function bump_segment_revision()`.execute(db);

  // A contact that was removed by hand keeps its row: no filter may add it again.
  await sql`
    create table segment_contacts (
      segment_id integer not null references segments on delete cascade,
      contact_id integer not null references contacts on delete cascade,
      date_added timestamptz not null,
      manually_added boolean not null default false,
      manually_removed boolean not null default false,
      primary key (segment_id, contact_id)
    )`.execute(db);
  await sql`create index segment_contacts_contact_id on segment_contacts (contact_id, segment_id)`.execute(
    db,
  );
  await createUses(db);
  await createBuilds(db);
}

/** Which segments a segment names in its filters. The used one may be deleted meanwhile. */
async function createUses(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table segment_uses (
      segment_id integer not null references segments on delete cascade,
      used_id integer not null,
      primary key (segment_id, used_id)
    )`.execute(db);
  await sql`create index segment_uses_used_id on segment_uses (used_id)`.execute(db);
}

/**
 * One row a segment: `requested_at` is set while its members have to be found again. A crash loses a slice of that work
 * at most, and whatever else changes the definition lets it begin again.
 */
async function createBuilds(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table segment_builds (
      segment_id integer primary key references segments on delete cascade,
      requested_at timestamptz,
      started_at timestamptz,
      -- Contacts up to this id are done.
      position integer not null default 0,
      last_id integer,
      added integer not null default 0,
      removed integer not null default 0,
      built_at timestamptz,
      seconds double precision,
      -- Why its members could not be found.
      problem text
    )`.execute(db);
  await sql`
    create index segment_builds_requested on segment_builds (requested_at) where requested_at is not null`.execute(
    db,
  );
  await sql`
    create function request_segment_build(segment integer) returns void language sql as $$
      insert into segment_builds (segment_id, requested_at) values (segment, clock_timestamp())
      on conflict (segment_id) do update
      set requested_at = clock_timestamp(), started_at = null, position = 0, added = 0, removed = 0
    $$`.execute(db);
  await sql`
    create function follow_segment_definition() returns trigger language plpgsql as $$
    begin
      delete from segment_uses where segment_id = new.id;
      insert into segment_uses (segment_id, used_id)
      select distinct new.id, (used #>> '{}')::integer
      from jsonb_path_query(new.filters, '$[*] ? (@.field == "leadlist").filter[*]') as used
      where jsonb_typeof(used) = 'number';
      perform request_segment_build(s.id) from segments s
      where s.id = new.id or s.id in (
        with recursive users as (
          select segment_id from segment_uses where used_id = new.id
          union select u.segment_id from segment_uses u join users on u.used_id = users.segment_id)
        select segment_id from users);
      return null;
    end $$`.execute(db);
  await sql`
    create trigger segments_defined after insert on segments
    for each row execute function follow_segment_definition()`.execute(db);
  await sql`
    create trigger segments_redefined after update on segments
    for each row when (old.filters <> new.filters or old.is_published <> new.is_published)
    execute function follow_segment_definition()`.execute(db);
}
