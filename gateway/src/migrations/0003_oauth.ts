import { type Kysely, sql } from "kysely";

/** Secrets, codes, tokens and session ids are kept as SHA-256 alone: a copy of these tables opens nothing. */
export async function createOAuth(db: Kysely<unknown>): Promise<void> {
  await sql`
    create table oauth_clients (
      id integer generated always as identity primary key,
      random_id text not null,
      name text not null,
      secret_hash text,
      redirect_uris text[] not null,
      grants text[] not null,
      role_id integer references roles (id) on delete set null,
      is_public boolean not null,
      date_added timestamptz not null default now(),
      last_used_at timestamptz,
      check (is_public = (secret_hash is null))
    )`.execute(db);
  await sql`create index oauth_clients_role on oauth_clients (role_id)`.execute(db);

  // One consent, or one call of a client for itself (no user): the family of all tokens that came from it.
  await sql`
    create table oauth_grants (
      id bigint generated always as identity primary key,
      client_id integer not null references oauth_clients (id) on delete cascade,
      user_id integer references users (id) on delete cascade,
      date_added timestamptz not null default now(),
      revoked_at timestamptz
    )`.execute(db);
  await sql`create index oauth_grants_client on oauth_grants (client_id)`.execute(db);
  await sql`create index oauth_grants_user on oauth_grants (user_id, client_id)`.execute(db);
  await sql`create index oauth_grants_date_added on oauth_grants (date_added)`.execute(db);

  await sql`
    create table oauth_codes (
      hash text primary key,
      grant_id bigint not null references oauth_grants (id) on delete cascade,
      redirect_uri text not null,
      challenge text,
      expires_at timestamptz not null,
      used_at timestamptz
    )`.execute(db);
  await sql`create index oauth_codes_grant on oauth_codes (grant_id)`.execute(db);
  await sql`create index oauth_codes_expires on oauth_codes (expires_at)`.execute(db);

  await sql`
    create table oauth_tokens (
      hash text primary key,
      kind text not null check (kind in ('access', 'refresh')),
      grant_id bigint not null references oauth_grants (id) on delete cascade,
      parent text,
      expires_at timestamptz not null,
      used_at timestamptz,
      revoked_at timestamptz
    )`.execute(db);
  await sql`create index oauth_tokens_grant on oauth_tokens (grant_id)`.execute(db);
  await sql`create index oauth_tokens_expires on oauth_tokens (expires_at)`.execute(db);

  await sql`
    create table sessions (
      hash text primary key,
      user_id integer not null references users (id) on delete cascade,
      date_added timestamptz not null default now(),
      seen_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index sessions_user on sessions (user_id)`.execute(db);
  await sql`create index sessions_seen on sessions (seen_at)`.execute(db);
}
