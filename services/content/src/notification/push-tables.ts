/** SQL of a migration: browsers and apps of contacts that take notifications, by the ids that the provider gave them. */
export const PUSH_IDS = [
  `create table push_ids (
    id integer generated always as identity primary key, push_id text not null unique, contact_id integer not null,
    is_enabled boolean not null default true, is_mobile boolean not null, version integer not null default 1,
    date_added timestamptz not null default now(), last_seen timestamptz not null default now())`,
  "create index push_ids_of_contact on push_ids (contact_id, last_seen)",
];
