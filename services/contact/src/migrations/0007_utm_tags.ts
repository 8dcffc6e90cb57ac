import { type Kysely, sql } from "kysely";

/** How a contact came: one row for each visit that was recorded. */
export async function createUtmTags(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table utm_tags (
      id integer generated always as identity primary key,
      contact_id integer not null references contacts on delete cascade,
      date_added timestamptz not null,
      utm_campaign text,
      utm_content text,
      utm_medium text,
      utm_source text,
      utm_term text,
      url text,
      referer text,
      query jsonb not null default '{}',
      remote_host text,
      user_agent text
    )`.execute(db);
  await sql`create index utm_tags_contact_id on utm_tags (contact_id)`.execute(db);
  // Most contacts have none: reading one of those costs nothing.
  await sql`alter table contacts add column has_utm_tags boolean not null default false`.execute(db);
}
