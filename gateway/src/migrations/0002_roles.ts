import { type Kysely, sql } from "kysely";

export async function createRoles(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table roles (
      id integer generated always as identity primary key,
      name text not null,
      is_admin boolean not null default false,
      is_published boolean not null default true,
      raw_permissions jsonb not null default '{}'
    )`.execute(db);
  await sql`insert into roles (name, is_admin) values ('Administrator', true)`.execute(db);
  await sql`alter table users add column role_id integer references roles (id)`.execute(db);
  await sql`
    create table audit (
      id bigint generated always as identity primary key,
      at timestamptz not null default now(),
      action text not null,
      actor_kind text,
      actor_id integer,
      actor_name text,
      client_ip text,
      object_type text not null,
      object_id text not null,
      details jsonb not null
    )`.execute(db);
}
