/** SQL of a migration: mails to users and to addresses, written when they are chosen. One row is one address. */
export const NOTICE_TABLES = [
  `create table notices (
    id bigint generated always as identity primary key, hash uuid not null unique, occasion text not null,
    -- The form or email that it came from: these share the connections.
    source_id integer not null, address text not null, mail jsonb not null,
    -- The contact whose values are in it, and whether it is the recipient: then it may have said no.
    contact_id integer, is_to_contact boolean not null default false, created_by integer,
    state text not null default 'waiting', due_at timestamptz not null default now(), lease_token integer not null default 0,
    attempts smallint not null default 0, started_at timestamptz, code smallint, reason text,
    date_queued timestamptz not null default now(), date_sent timestamptz)`,
  "create unique index notices_once on notices (occasion, lower(address))",
  "create index notices_due on notices (source_id, due_at) where state = 'waiting'",
  "create index notices_started on notices (due_at) where state = 'started'",
  "create index notices_age on notices (date_queued)",
  "create index notices_of_contact on notices (contact_id) where contact_id is not null",
  "create index notices_by_user on notices (created_by, date_queued) where created_by is not null",
  "insert into jobs (kind, key) values ('notice_retention', 'all')",
  `create table users (
    id integer primary key, version integer not null, email text, first_name text, last_name text, is_published boolean)`,
  "create index users_email on users (lower(email))",
];

/** SQL of a migration: what mails to the contacts of a user say of that user. Known users are listed anew. */
export const OWNERS_OF_MAILS = [
  "alter table users add column position text, add column signature text",
  "select begin_projection_beside('users')",
];

/** SQL of a migration: notices in a state, and those of an email or a form in a state, are listed backwards. */
export const NOTICE_LEDGER = [
  "create index notices_by_state on notices (state, id)",
  "create index notices_of_source on notices (source_id, state, id)",
];
