import { JobState } from "@tidings/jobs/job-state";

/** The states of a send. Those of jobs are open: what becomes of it is not decided. The others are final, and are kept. */
export const SendState = {
  ...JobState,
  /** The next server took it. */
  SENT: "sent",
  /** It was refused for good, or there is no address; the reason says which. */
  FAILED: "failed",
  /** The contact said no. */
  SUPPRESSED: "suppressed",
  CANCELLED: "cancelled",
} as const;

/** Lanes: a send that somebody waits for is never behind those to segments. */
export const Lane = { DIRECT: 0, BULK: 1 } as const;

/** The occasion of sends to segments. */
export const LIST = "list";

/** Occasions of sends that a marketing message made begin with this. */
export const OF_MESSAGES = "message:";

/** SQL of a migration: the ledger of sends, and what its mails are made of. */
export const SEND_TABLES = [
  // A mail is of the email as it was when its recipient was chosen.
  `create table email_revisions (
    email_id integer not null, version integer not null, content jsonb not null,
    date_added timestamptz not null default now(), primary key (email_id, version))`,
  // Sends of one email to segments: whom it chooses, and how far it is.
  `create table broadcasts (
    id uuid primary key, email_id integer not null, family_id integer not null, list_ids integer[] not null,
    recipients_max integer, position integer not null default 0, chosen integer not null default 0,
    state text not null default 'choosing', is_paused boolean not null default false, created_by integer,
    -- Its sends by state once it is finished; null where one of them changed since.
    counts jsonb, started_at timestamptz not null default now(), finished_at timestamptz)`,
  "create index broadcasts_of_email on broadcasts (email_id, id)",
  "create index broadcasts_paused on broadcasts (family_id) where is_paused and finished_at is null",
  // Each email of an A/B test with the number of its recipients since the test began.
  `create table variant_choices (
    email_id integer primary key, since timestamptz, chosen integer not null default 0)`,
  // `hash` is the fact's id, a UUIDv7, and the name of the send in the headers and links of its mail.
  // `chosen_contact_id` stays when the contact is merged: what was chosen once is not chosen again.
  `create table sends (
    id bigint generated always as identity primary key, hash uuid not null unique, version integer not null default 1,
    email_id integer not null, email_version integer not null, family_id integer not null,
    broadcast_id uuid, contact_id integer not null, chosen_contact_id integer not null, occasion text not null, lane smallint not null,
    address text, list_id integer, source text, source_id integer, tokens jsonb, attachments integer[],
    state text not null default 'waiting', due_at timestamptz not null default now(), lease_token integer not null default 0,
    attempts smallint not null default 0, started_at timestamptz, code smallint, reason text,
    date_queued timestamptz not null default now(), date_sent timestamptz,
    is_read boolean not null default false, date_read timestamptz, open_count integer not null default 0,
    last_opened timestamptz, viewed_in_browser boolean not null default false
  ) with (fillfactor = 80)`,
  "create unique index sends_once on sends (family_id, chosen_contact_id, occasion)",
  // Two contacts with one address get one mail.
  "create unique index sends_once_an_address on sends (family_id, lower(address)) where occasion = 'list'",
  "create index sends_of_contact on sends (contact_id, id)",
  "create index sends_of_email on sends (email_id, state, id)",
  ...Object.values(Lane).map(
    (lane) =>
      `create index sends_due_${lane} on sends (family_id, due_at) where lane = ${lane} and state = 'waiting'`,
  ),
  "create index sends_of_broadcast on sends (broadcast_id, state) where broadcast_id is not null",
  "create index sends_started on sends (due_at) where state = 'started'",
  "create index sends_unknown on sends (id) where state = 'unknown'",
  `create table send_replies (
    id integer generated always as identity primary key, send_hash uuid not null references sends (hash) on delete cascade,
    date_replied timestamptz not null default now())`,
  "create index send_replies_of_send on send_replies (send_hash)",
  // A contact who said no here is not written to, also while the contact service has not heard of it.
  `create table send_refusals (
    contact_id integer not null, channel text not null, reason smallint not null, id bigint generated always as identity,
    date_added timestamptz not null default now(), primary key (contact_id, channel))`,
];

/** SQL of a migration: clicks in mails that wait for a verdict, and what machines did with mails. */
export const MAIL_CLICKS = [
  // Opens and clicks of machines count apart. `last_scanned`: a scanner followed links of the mail.
  `alter table sends add column machine_open_count integer not null default 0, add column machine_click_count integer not null default 0,
    add column last_scanned timestamptz`,
  // `hit` is recorded with the verdict; null where it was recorded at once.
  `create table mail_clicks (
    id uuid primary key, send_hash uuid not null, target text not null, clicked_at timestamptz not null,
    due_at timestamptz not null, hit jsonb)`,
  "create index mail_clicks_due on mail_clicks (due_at)",
  "create index mail_clicks_of_send on mail_clicks (send_hash)",
];

/** SQL of a migration: visits to which clicks led wait with these. They have no target: they are no clicks. */
export const VISITS_OF_HELD_CLICKS = [
  "alter table mail_clicks alter target drop not null",
  "create index mail_clicks_of_device on mail_clicks ((device ->> 'id'))",
];

/** SQL of a migration: the categories that contacts want, or do not want, to hear of. */
export const CATEGORY_SUBSCRIPTIONS = [
  `create table category_subscriptions (
    contact_id integer not null, category_id integer not null references categories on delete cascade, is_subscribed boolean not null,
    version integer not null default 1, id integer generated always as identity, primary key (contact_id, category_id))`,
  "create index category_subscriptions_of_category on category_subscriptions (category_id)",
];

/** SQL of a migration: sends to segments that wait for the winner of a test. */
export const WINNER_OF_SENDS = [
  // `offered`: recipients that the test share was taken of. `decides_at` is null until they all were; `winner_id` until the winner is known. `is_of_root`:
  // the email was no variant when it began.
  `alter table broadcasts add column winner_after_hours smallint, add column test_share smallint, add column offered integer not null default 0,
    add column decides_at timestamptz, add column winner_id integer, add column is_of_root boolean not null default false`,
  // A winner that took the place of its parent keeps the family by which the ledger knows who got a mail of the test.
  `create table email_families (
    email_id integer primary key references emails on delete cascade, family_id integer not null)`,
];

/** SQL of a migration: where the latest opens of mails came from (`open_details` and `ip_id` of engines.md 6.5), written with the opens. */
export const OPEN_DETAILS = [
  "alter table sends add column ip text, add column open_details jsonb",
  "alter table mail_clicks add column opened_from jsonb",
];

/** The ledgers: tables of messages that are claimed as `laneOf` claims them. */
const LEDGERS = ["sends", "notices", "text_sends", "tweet_sends", "notification_sends"];

/** SQL of a migration: leases of sends. */
export const LEASES_OF_SENDS = [
  // No index has it. A page has room for a second version of each row, so that a claim writes no index entry (heap-only tuples).
  ...LEDGERS.map(
    (table) => `alter table ${table} add column leased_until timestamptz, set (fillfactor = 50)`,
  ),
];
