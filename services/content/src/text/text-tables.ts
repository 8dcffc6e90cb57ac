/** SQL of a migration: the ledger of text messages. One row is one message to one contact, written when it is chosen. */
export const TEXT_TABLES = [
  // `chosen_contact_id` stays when the contact is merged: what was chosen once is not chosen again. `address` is the number that got it.
  `create table text_sends (
    id bigint generated always as identity primary key, hash uuid not null unique, version integer not null default 1,
    sms_id integer not null, contact_id integer not null, chosen_contact_id integer not null, occasion text not null,
    content text not null, address text, list_id integer, source text, source_id integer,
    state text not null default 'waiting', due_at timestamptz not null default now(), lease_token integer not null default 0,
    attempts smallint not null default 0, started_at timestamptz, code smallint, reason text,
    date_queued timestamptz not null default now(), date_sent timestamptz
  ) with (fillfactor = 80)`,
  "create unique index text_sends_once on text_sends (sms_id, chosen_contact_id, occasion)",
  "create index text_sends_of_contact on text_sends (contact_id, id)",
  "create index text_sends_due on text_sends (sms_id, due_at) where state = 'waiting'",
  "create index text_sends_started on text_sends (due_at) where state = 'started'",
  "create index text_sends_unknown on text_sends (id) where state = 'unknown'",
];

/** SQL of a migration: sends of a text message in a state are listed backwards. */
export const TEXT_LEDGER = ["create index text_sends_of_sms on text_sends (sms_id, state, id)"];
