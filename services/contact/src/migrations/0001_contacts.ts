import { type Kysely, sql } from "kysely";

export async function createContacts(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table contacts (
      id integer generated always as identity primary key,
      version integer not null default 1,
      is_published boolean not null default true,
      date_added timestamptz not null,
      created_by integer,
      created_by_user text,
      date_modified timestamptz,
      modified_by integer,
      modified_by_user text,
      owner_id integer,
      points integer not null default 0,
      last_active timestamptz,
      date_identified timestamptz,

      title text,
      firstname text,
      lastname text,
      company text,
      position text,
      email text,
      mobile text,
      phone text,
      fax text,
      address1 text,
      address2 text,
      city text,
      state text,
      zipcode text,
      country text,
      preferred_locale text,
      timezone text,
      attribution_date timestamptz,
      attribution numeric,
      website text,
      facebook text,
      foursquare text,
      instagram text,
      linkedin text,
      skype text,
      twitter text,

      -- Small sets that are read and written with the contact.
      tag_ids integer[] not null default '{}',
      ip_address_ids integer[] not null default '{}',
      do_not_contact jsonb not null default '{}',
      frequency_rules jsonb not null default '{}'
    )`.execute(db);
  // The default order of the list, and the two look-ups clients make most.
  await sql`create index contacts_last_active on contacts (last_active desc nulls last, id desc)`.execute(db);
  await sql`create index contacts_email on contacts (lower(email))`.execute(db);
  await sql`create index contacts_date_added on contacts (date_added, id)`.execute(db);
  await sql`create index contacts_tag_ids on contacts using gin (tag_ids)`.execute(db);
  await sql`create index contacts_owner_id on contacts (owner_id) where owner_id is not null`.execute(db);

  // One row for each value that no two contacts may share.
  await sql`
    create table contact_identifiers (
      field text not null,
      value text not null,
      contact_id integer not null references contacts on delete cascade,
      primary key (field, value)
    )`.execute(db);
  await sql`create index contact_identifiers_contact_id on contact_identifiers (contact_id)`.execute(db);

  await sql`
    create table tags (
      id integer generated always as identity primary key,
      version integer not null default 1,
      tag text not null unique,
      description text
    )`.execute(db);

  await sql`
    create table ip_addresses (
      id integer generated always as identity primary key,
      ip_address text not null unique
    )`.execute(db);

  await sql`create sequence do_not_contact_id as integer`.execute(db);

  await sql`
    create table points_log (
      id bigint generated always as identity primary key,
      contact_id integer not null references contacts on delete cascade,
      type text not null,
      event_name text not null,
      action_name text not null,
      delta integer not null,
      date_added timestamptz not null
    )`.execute(db);
  await sql`create index points_log_contact_id on points_log (contact_id, id)`.execute(db);
}
