import { type Kysely, sql } from "kysely";

/** Replicas of the resources of other services, kept up to date from their events. */
export async function createNeighbours(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table owners (
      id integer primary key,
      version integer not null,
      username text not null,
      first_name text not null,
      last_name text not null
    )`.execute(db);
  await sql`
    create table stages (
      id integer primary key,
      version integer not null,
      name text not null,
      description text,
      weight integer not null default 0,
      is_published boolean not null default true
    )`.execute(db);
  await sql`
    create table categories (
      id integer primary key,
      version integer not null,
      title text not null,
      alias text not null,
      description text,
      color text,
      bundle text not null,
      is_published boolean not null default true
    )`.execute(db);
  await sql`alter table contacts add column stage_id integer`.execute(db);
  await sql`create index contacts_stage_id on contacts (stage_id) where stage_id is not null`.execute(db);
}
