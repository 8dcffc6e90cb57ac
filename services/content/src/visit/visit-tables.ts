import { CONTACT_FATES } from "@tidings/projection/contact-fates";
import { factTable } from "./fact-table.ts";
import { VISIT_COLUMNS } from "./visit-row.ts";

/** The columns of a hit, with their types: each fact of a visit to the web that counts. */
export const HIT_COLUMNS = {
  /** A UUIDv7, whose time is that of the hit. */
  id: "uuid",
  version: "integer",
  /** Null: a visitor who is no contact. */
  contact_id: "integer",
  date_hit: "timestamptz",
  date_left: "timestamptz",
  page_id: "integer",
  redirect_id: "integer",
  email_id: "integer",
  variant_parent_id: "integer",
  url_title: "text",
  source: "text",
  source_id: "integer",
  is_unique: "boolean",
  ...VISIT_COLUMNS,
} as const;

/** SQL of a migration: browsers remember the keys of what they reported last. */
export const FACT_KEYS = [
  "alter table visitor_devices add column recent_keys bigint[] not null default '{}'",
];

/** SQL of a migration: visitors, their hits, and the links that lead to hits. */
export const VISIT_TABLES = [
  ...CONTACT_FATES,
  // `is_proven`: the device made its contact, or showed a signed link of it; what is known of that one may be shown to it.
  // `shown_contact_id` is what answers say, whoever the visitor turns out to be, until that is proven.
  `create table visitor_devices (
    id text primary key, contact_id integer not null, shown_contact_id integer not null,
    is_proven boolean not null default true, date_added timestamptz not null default now(),
    last_seen timestamptz not null, last_hit_id uuid, previous_hit_id uuid) with (fillfactor = 80)`,
  "create index visitor_devices_of_contact on visitor_devices (contact_id)",
  // Ids of contacts that were taken from the contact service in advance.
  "create table contact_id_blocks (id integer generated always as identity primary key, ids integer[] not null)",
  ...factTable("page_hits", HIT_COLUMNS, "date_hit"),
  // The first time that a contact was at a page, a link or an asset.
  `create table first_visits (contact_id integer not null, target text not null, primary key (contact_id, target))`,
  `create table page_redirects (
    id integer generated always as identity primary key, redirect_id text not null unique, url text not null,
    hits integer not null default 0, unique_hits integer not null default 0,
    date_added timestamptz not null default now(), is_published boolean not null default true)`,
  "create index page_redirects_url on page_redirects (md5(url))",
  `create table channel_url_trackables (
    redirect_id integer not null references page_redirects on delete cascade, channel text not null,
    channel_id integer not null, hits integer not null default 0, unique_hits integer not null default 0,
    primary key (redirect_id, channel, channel_id))`,
  // Sites whose pages are tracked, as their hits say.
  `create table tracked_sites (
    host text primary key, last_hit timestamptz, hits integer not null default 0, machine_hits integer not null default 0,
    refused jsonb not null default '{}')`,
];

/** SQL of a migration: what visitors agreed to, and the address of those who are found by it (TRACK_BY_IP). */
export const VISITORS_FOUND = [
  "alter table visitor_devices add column has_consented boolean not null default false, add column ip text",
  "create index visitor_devices_at_address on visitor_devices (ip, date_added desc) where ip is not null",
];
