/** SQL of a migration: the way back of text messages. */
export const REPLY_TABLES = [
  // The latest report that it was not delivered (hard, soft or blocked), and the first one that it was.
  "alter table text_sends add column undelivered text, add column date_undelivered timestamptz, add column date_delivered timestamptz",
  // Replies name nothing but the number. A row gets into the index with its first attempt.
  "create index text_sends_of_address on text_sends (address, id) where address is not null",
  // `key` is the provider's name of the message, so that no reply is taken twice, whenever it comes. `send_hash`: the latest send to the number.
  `create table text_replies (
    id bigint generated always as identity primary key, hash uuid not null unique, key uuid not null unique, version integer not null default 1, contact_id integer not null,
    sms_id integer not null, send_hash uuid not null, address text not null, content text not null, date_replied timestamptz not null)`,
  "create index text_replies_of_contact on text_replies (contact_id)",
];

/** SQL of a migration: the words of consent in replies that were taken stay known. */
export const CONSENTS_TAKEN = [
  `insert into callback_events (key, date_added) select key, 'infinity' from text_replies
   where content ~* '^[[:space:][:punct:]]*(stop|stopall|unsubscribe|cancel|end|quit|start|unstop)[[:space:][:punct:]]*$'
   on conflict (key) do update set date_added = excluded.date_added`,
];
