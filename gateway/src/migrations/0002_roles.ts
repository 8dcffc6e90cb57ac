import { type Kysely, sql } from "kysely";

export async function createRoles(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table roles (
      id integer generated always as identity primary key,
      version integer not null default 1,
      is_published boolean not null default true,
      date_added timestamptz not null default now(),
      created_by integer,
      created_by_user text,
      date_modified timestamptz,
      modified_by integer,
      modified_by_user text,
      name text not null,
      description text,
      is_admin boolean not null default false,
      raw_permissions jsonb
    )`.execute(db);
  await sql`
    insert into roles (name, description, is_admin)
    values ('Administrator', 'Full system access', true)`.execute(db);

  // Until now an administrator was the only kind of user there could be.
  await sql`
    alter table users
      add column role_id integer not null default 1 references roles (id),
      add column created_by integer,
      add column created_by_user text,
      add column modified_by integer,
      add column modified_by_user text,
      add column position text,
      add column timezone text not null default '',
      add column locale text not null default '',
      add column online_status text not null default 'offline',
      add column signature text,
      add column last_login timestamptz,
      add column last_active timestamptz,
      alter column password_hash drop not null,
      drop column is_admin`.execute(db);
  await sql`alter table users alter column role_id drop default`.execute(db);
  await sql`create index users_role_id on users (role_id)`.execute(db);

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
  await sql`create index audit_object on audit (object_type, object_id)`.execute(db);
  await sql`
    create function keep_audit() returns trigger language plpgsql as $$
    begin
      raise exception 'the audit is only added to' using errcode = 'restrict_violation';
    end $$`.execute(db);
  await sql`
    create trigger audit_is_kept before update or delete or truncate on audit
    for each statement execute function keep_audit()`.execute(db);
}
