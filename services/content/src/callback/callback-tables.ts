/** SQL of a migration: what providers report of mails. */
export const CALLBACK_TABLES = [
  // Events that were taken, each under the hash of its provider and id: nothing of a person.
  "create table callback_events (key uuid primary key, date_added timestamptz not null default now())",
  "create index callback_events_age on callback_events (date_added)",
  "insert into jobs (kind, key) values ('callback_retention', 'all')",
  // The latest bounce (hard, soft or blocked), and the first complaint.
  "alter table sends add column bounce text, add column date_bounced timestamptz, add column date_complained timestamptz",
  // Some providers name nothing but the address. A row gets into the index once its mail is out.
  "create index sends_of_address on sends (lower(address), id) where state in ('sent', 'unknown')",
];
