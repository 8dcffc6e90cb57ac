import { type Kysely, sql } from "kysely";

export async function createMerges(db: Kysely<unknown>): Promise<void> {
  // Whoever still knows a merged contact by its id finds the one it became part of.
  await sql`
    create table contact_redirects (
      merged_id integer primary key,
      contact_id integer not null references contacts on delete cascade,
      date_added timestamptz not null
    )`.execute(db);
  await sql`create index contact_redirects_contact_id on contact_redirects (contact_id)`.execute(db);

  // What a deleted contact did not want stays known by a keyed hash of its address, which tells nothing else of it.
  await sql`
    create table suppressions (
      hash bytea not null,
      channel text not null,
      reason smallint not null,
      date_added timestamptz not null,
      primary key (hash, channel)
    )`.execute(db);
}
