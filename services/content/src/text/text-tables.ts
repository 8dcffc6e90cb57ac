/** SQL of a migration: the ledger of a channel. One row is one message to one contact, written when it is chosen. */
function ledgerTable(table: string, item: string): string[] {
  return [
    // `chosen_contact_id` stays when the contact is merged: what was chosen once is not chosen again. `address` is the number, handle or ids that got it.
    `create table ${table} (
    id bigint generated always as identity primary key, hash uuid not null unique, version integer not null default 1,
    ${item} integer not null, contact_id integer not null, chosen_contact_id integer not null, occasion text not null,
    content text not null, address text, list_id integer, source text, source_id integer,
    state text not null default 'waiting', due_at timestamptz not null default now(), lease_token integer not null default 0,
    attempts smallint not null default 0, started_at timestamptz, code smallint, reason text,
    date_queued timestamptz not null default now(), date_sent timestamptz
  ) with (fillfactor = 80)`,
    `create unique index ${table}_once on ${table} (${item}, chosen_contact_id, occasion)`,
    `create index ${table}_of_contact on ${table} (contact_id, id)`,
    `create index ${table}_due on ${table} (${item}, due_at) where state = 'waiting'`,
    `create index ${table}_started on ${table} (due_at) where state = 'started'`,
    `create index ${table}_unknown on ${table} (id) where state = 'unknown'`,
  ];
}

export const TEXT_TABLES = ledgerTable("text_sends", "sms_id");

/** SQL of a migration: text messages are sent to segments. */
export const TEXT_BROADCASTS = [
  "alter table broadcasts alter column email_id drop not null, alter column family_id drop not null, add column sms_id integer",
  "create index broadcasts_of_sms on broadcasts (sms_id, id) where sms_id is not null",
  "create index broadcasts_paused_smses on broadcasts (sms_id) where is_paused and finished_at is null",
  "alter table text_sends add column broadcast_id uuid",
  // Two contacts with one number get one message.
  "create unique index text_sends_once_a_number on text_sends (sms_id, address) where occasion = 'list'",
  "create index text_sends_of_broadcast on text_sends (broadcast_id, state) where broadcast_id is not null",
  "create index text_sends_due_direct on text_sends (sms_id, due_at) where state = 'waiting' and broadcast_id is null",
  "create index text_sends_due_bulk on text_sends (sms_id, due_at) where state = 'waiting' and broadcast_id is not null",
];

/** SQL of a migration: sends of a text message in a state are listed backwards. */
export const TEXT_LEDGER = ["create index text_sends_of_sms on text_sends (sms_id, state, id)"];

/** SQL of a migration: the beginning of the provider's answer to a message that it took, and its id of it. */
export const PROVIDER_ANSWERS = [
  "alter table text_sends add column provider_id text, add column answer text",
];

/** SQL of a migration: the address of the first click in a text message, and the one that a notification was seen from first. */
export const ADDRESSES_OF_READERS = ["text_sends", "notification_sends"].map(
  (table) => `alter table ${table} add column ip text`,
);

/** SQL of a migration: the ledgers of tweets and notifications. */
export const CHANNEL_LEDGERS = [
  ...ledgerTable("tweet_sends", "tweet_id"),
  `alter table tweet_sends add column provider_id text, add column answer text,
    add column favorite_count integer not null default 0, add column retweet_count integer not null default 0`,
  "create index tweet_sends_of_tweet on tweet_sends (tweet_id, state, id)",
  ...ledgerTable("notification_sends", "notification_id"),
  `alter table notification_sends add column provider_id text, add column answer text, add column is_mobile boolean not null,
    add column is_clicked boolean not null default false, add column date_read timestamptz, add column date_clicked timestamptz,
    add column last_clicked timestamptz, add column click_count integer not null default 0, add column click_details jsonb not null default '[]'`,
  "create index notification_sends_of_notification on notification_sends (notification_id, state, id)",
];
