import { type Kysely, sql } from "kysely";

/** Fields that users add: their definitions, and the column their values live in. */
export async function createCustomFields(db: Kysely<unknown>): Promise<void> {
  await sql`alter table fields rename column field_group to "group"`.execute(db);
  await sql`alter table fields rename column field_order to "order"`.execute(db);
  await sql`
    alter table fields
      add column description text,
      add column char_length_limit integer,
      add column date_added timestamptz not null default now(),
      add column created_by integer,
      add column created_by_user text,
      add column date_modified timestamptz,
      add column modified_by integer,
      add column modified_by_user text`.execute(db);

  // Every replica keeps the definitions in memory and looks here whether they are still the same.
  await sql`create table field_revision (revision integer not null)`.execute(db);
  await sql`insert into field_revision values (1)`.execute(db);
  await sql`
    create function bump_field_revision() returns trigger language plpgsql as $$
    begin
      update field_revision set revision = revision + 1;
      return null;
    end $$`.execute(db);
  await sql`
    create trigger fields_changed after insert or update or delete on fields
    for each statement execute function bump_field_revision()`.execute(db);

  await createUpkeep(db);

  // Values by field id: a field that is deleted and made again under the same alias begins empty.
  await sql`alter table contacts add column custom jsonb not null default '{}'`.execute(db);
  await createTermFunctions(db);
  await sql`
    create index contacts_custom_terms on contacts using gin (custom_terms(custom)) where custom <> '{}'`.execute(
    db,
  );
}

/**
 * One index serves equality on every added field, whichever they are: it holds a hash of each pair of field id and
 * lower-case value. A hash, because values may be longer than an index entry.
 */
async function createTermFunctions(db: Kysely<unknown>): Promise<void> {
  await sql`
    create function custom_term(id text, value text) returns bigint language sql immutable strict parallel safe
    return hashtextextended(id || '=' || lower(value), 0)`.execute(db);
  await sql`
    create function custom_terms(custom jsonb) returns bigint[] language sql immutable strict parallel safe
    return array(select hashtextextended(key || '=' || lower(value), 0) from jsonb_each_text(custom))`.execute(
    db,
  );
}

/** Work that a changed definition leaves behind: values to forget, identifiers to claim or to give up. */
async function createUpkeep(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table field_upkeep (
      id integer generated always as identity primary key,
      task text not null,
      field_id integer not null,
      object text not null,
      alias text not null,
      -- Records up to this id are done.
      position integer not null default 0,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`
    create function plan_field_upkeep() returns trigger language plpgsql as $$
    declare
      was_identifier boolean := old.is_unique_identifier and old.is_published;
      is_identifier boolean := tg_op = 'UPDATE' and new.is_unique_identifier and new.is_published;
    begin
      if was_identifier <> is_identifier then
        insert into field_upkeep (task, field_id, object, alias)
        values (case when is_identifier then 'claim' else 'release' end, old.id, old.object, old.alias);
      end if;
      if tg_op = 'DELETE' then
        insert into field_upkeep (task, field_id, object, alias) values ('forget', old.id, old.object, old.alias);
      end if;
      return null;
    end $$`.execute(db);
  await sql`
    create trigger fields_upkeep after update or delete on fields
    for each row execute function plan_field_upkeep()`.execute(db);
}
