import { type Kysely, sql } from "kysely";

export async function createMerges(db: Kysely<unknown>): Promise<void> {
  // The id of a merged contact leads to the contact that it became a part of.
  await sql`
    create table contact_redirects (
      merged_id integer primary key,
      contact_id integer not null references contacts on delete cascade,
      date_added timestamptz not null
    )`.execute(db);
  await sql`create index contact_redirects_contact_id on contact_redirects (contact_id)`.execute(db);

  // Do-not-contact entries of a deleted contact are kept under a keyed hash of its address, which reveals nothing else of it.
  await sql`
    create table suppressions (
      hash bytea not null,
      channel text not null,
      reason smallint not null,
      date_added timestamptz not null,
      primary key (hash, channel)
    )`.execute(db);
}
