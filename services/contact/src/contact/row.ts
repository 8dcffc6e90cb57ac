import type { Row } from "@tidings/store/database";

/**
 * A contact as it is read and written: its columns in Postgres' text form, and two derived JSON texts (tags and
 * ip_addresses). Text needs no conversion on its way to JSON, which is where almost all of it goes.
 */
export type ContactRow = Row;

interface ContactColumn {
  name: string;
  sqlType: string;
}

const OWN_COLUMNS: ContactColumn[] = [
  { name: "id", sqlType: "integer" },
  { name: "version", sqlType: "integer" },
  { name: "is_published", sqlType: "boolean" },
  { name: "date_added", sqlType: "timestamptz" },
  { name: "created_by", sqlType: "integer" },
  { name: "created_by_user", sqlType: "text" },
  { name: "date_modified", sqlType: "timestamptz" },
  { name: "modified_by", sqlType: "integer" },
  { name: "modified_by_user", sqlType: "text" },
  { name: "owner_id", sqlType: "integer" },
  { name: "date_identified", sqlType: "timestamptz" },
  { name: "tag_ids", sqlType: "integer[]" },
  { name: "ip_address_ids", sqlType: "integer[]" },
  { name: "do_not_contact", sqlType: "jsonb" },
  { name: "frequency_rules", sqlType: "jsonb" },
];

/** Columns that are also fields: clients name them by the field's alias. */
const FIELD_COLUMNS: ContactColumn[] = [
  { name: "points", sqlType: "integer" },
  { name: "last_active", sqlType: "timestamptz" },
  { name: "attribution_date", sqlType: "timestamptz" },
  { name: "attribution", sqlType: "numeric" },
  ...`title firstname lastname company position email mobile phone fax address1 address2 city state zipcode country
    preferred_locale timezone website facebook foursquare instagram linkedin skype twitter`
    .split(/\s+/)
    .map((name) => ({ name, sqlType: "text" })),
];

export const CONTACT_COLUMNS = [...OWN_COLUMNS, ...FIELD_COLUMNS];

/** The select list of a contact `c`. */
export const CONTACT_SELECT = `${CONTACT_COLUMNS.map(({ name }) => `c.${name}`).join(", ")},
  case when c.tag_ids <> '{}' then
    (select json_agg(json_build_object('id', t.id, 'tag', t.tag, 'description', t.description) order by t.tag)
     from tags t where t.id = any (c.tag_ids))
  end as tags,
  case when c.ip_address_ids <> '{}' then
    (select json_agg(json_build_object('id', i.id, 'ip', i.ip_address) order by i.id)
     from ip_addresses i where i.id = any (c.ip_address_ids))
  end as ip_addresses`;

/** A contact before anything is known of it. */
export const EMPTY_CONTACT: ContactRow = {
  ...Object.fromEntries(CONTACT_COLUMNS.map(({ name }) => [name, null])),
  version: "1",
  is_published: "t",
  points: "0",
  tag_ids: "{}",
  ip_address_ids: "{}",
  do_not_contact: "{}",
  frequency_rules: "{}",
  tags: null,
  ip_addresses: null,
};

export interface TagEntry {
  id: number;
  tag: string;
  description: string | null;
}

export interface IpEntry {
  id: number;
  ip: string;
}

export interface DoNotContactEntry {
  id: number;
  dateAdded: string;
  reason: number;
  comments: string;
  channelId: number | null;
}

export function tagsOf(row: ContactRow): TagEntry[] {
  return row.tags ? JSON.parse(row.tags) : [];
}

export function ipAddressesOf(row: ContactRow): IpEntry[] {
  return row.ip_addresses ? JSON.parse(row.ip_addresses) : [];
}

/** By channel. */
export function doNotContactOf(row: ContactRow): Record<string, DoNotContactEntry> {
  return row.do_not_contact && row.do_not_contact !== "{}" ? JSON.parse(row.do_not_contact) : {};
}

/** By channel, as the API shows them. */
export function frequencyRulesOf(row: ContactRow): Record<string, object> {
  return row.frequency_rules && row.frequency_rules !== "{}" ? JSON.parse(row.frequency_rules) : {};
}

const IDENTIFYING = ["firstname", "lastname", "company", "email"];

/** An anonymous contact has neither a name, a company, an address nor a social handle. */
export function isAnonymous(row: ContactRow, socialAliases: string[]): boolean {
  return [...IDENTIFYING, ...socialAliases].every((alias) => !row[alias]);
}
