/** The states of a marketing message to a contact. */
export const MessageState = {
  /** The next channel is to be chosen. */
  WAITING: "waiting",
  /** A channel has it: what becomes of that send becomes of the message, unless it fails. */
  IN_CHANNEL: "in_channel",
  /** No channel is left. */
  FAILED: "failed",
} as const;

/** SQL of a migration: marketing messages to contacts. One row is one message to one contact, which one channel at a time has. */
export const MESSAGE_SENDS = [
  // `channels` are those that are left, in the order of the message; `tried` those that did not send it, with their reasons.
  `create table message_sends (
    id bigint generated always as identity primary key, hash uuid not null unique,
    message_id integer not null, contact_id integer not null, chosen_contact_id integer not null, occasion text not null,
    is_bulk boolean not null default false, source text not null, source_id integer not null, channels jsonb not null, tried jsonb not null default '[]',
    channel text, send_hash uuid, reason text,
    state text not null default 'waiting', due_at timestamptz not null default now(), lease_token integer not null default 0,
    attempts smallint not null default 0, date_added timestamptz not null default now()
  ) with (fillfactor = 80)`,
  "create unique index message_sends_once on message_sends (message_id, chosen_contact_id, occasion)",
  "create index message_sends_of_contact on message_sends (contact_id, id)",
  "create index message_sends_of_send on message_sends (send_hash) where send_hash is not null",
  "create index message_sends_due on message_sends (message_id, due_at) where state = 'waiting'",
];

/** SQL of a migration: an address gets one mail of an occasion of a campaign, a trigger or a marketing message, also where contacts share it. */
export const ASKED_ADDRESSES = [
  `create unique index sends_asked_once_an_address on sends (family_id, occasion, lower(address))
   where address is not null and (occasion like 'campaign:%' or occasion like 'trigger:%' or occasion like 'report:%' or occasion like 'message:%')`,
];
