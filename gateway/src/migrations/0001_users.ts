import { type Kysely, sql } from "kysely";

export async function createUsers(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table users (
      id integer generated always as identity primary key,
      version integer not null default 1,
      username text not null,
      email text not null,
      first_name text not null,
      last_name text not null,
      is_admin boolean not null default false,
      is_published boolean not null default true,
      password_hash text not null,
      date_added timestamptz not null default now(),
      date_modified timestamptz
    )`.execute(db);
  // People type names and addresses in any case; no two users may differ in that alone.
  await sql`create unique index users_username on users (lower(username))`.execute(db);
  await sql`create unique index users_email on users (lower(email))`.execute(db);
}
