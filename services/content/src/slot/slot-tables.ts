/** SQL of a migration: dynamic content as it was shown to contacts. */
export const SLOT_TABLES = [
  // One row for each contact and content: when it was shown, the last time, and how often (conventions.md 8.3).
  `create table dynamic_content_stats (
    id uuid primary key, dynamic_content_id integer not null, contact_id integer not null, source text not null,
    date_sent timestamptz not null, last_sent timestamptz not null, sent_count integer not null default 1,
    sent_details jsonb not null default '[]', tokens jsonb not null default '{}')`,
  `create unique index dynamic_content_stats_of_contact
   on dynamic_content_stats (contact_id, dynamic_content_id, source)`,
  // The content that a campaign put into a slot for a contact.
  `create table dynamic_content_lead_data (
    id uuid primary key, dynamic_content_id integer not null, contact_id integer not null, slot text not null,
    date_added timestamptz not null)`,
  "create unique index dynamic_content_lead_data_of_slot on dynamic_content_lead_data (contact_id, slot)",
];

/** SQL of a migration: contents that were shown long ago go. */
export const SHOWN_RETENTION = [
  "create index dynamic_content_stats_age on dynamic_content_stats (last_sent)",
  "insert into jobs (kind, key) values ('shown_retention', 'all')",
];
