import type { Row } from "@tidings/database/statement";
import { CATEGORY_JSON } from "@tidings/resource/category-reference";
import { OWNER_JSON } from "./owner.ts";
import { type RecordColumn, recordTable, STANDARD_COLUMNS } from "./table.ts";

/**
 * A contact as it is read and written: its columns in Postgres' text form, and two derived JSON texts (tags and
 * ip_addresses). Text needs no conversion on its way to JSON, which is where almost all of it goes.
 */
export type ContactRow = Row;

const OWN_COLUMNS: RecordColumn[] = [
  ...STANDARD_COLUMNS,
  { name: "date_identified", sqlType: "timestamptz" },
  { name: "tag_ids", sqlType: "integer[]" },
  { name: "ip_address_ids", sqlType: "integer[]" },
  { name: "do_not_contact", sqlType: "jsonb" },
  { name: "frequency_rules", sqlType: "jsonb" },
  { name: "stage_id", sqlType: "integer" },
  { name: "has_utm_tags", sqlType: "boolean" },
  { name: "custom", sqlType: "jsonb" },
];

/** Columns that are also fields: clients name them by the field's alias. */
const FIELD_COLUMNS: RecordColumn[] = [
  { name: "points", sqlType: "integer" },
  { name: "last_active", sqlType: "timestamptz" },
  { name: "attribution_date", sqlType: "timestamptz" },
  { name: "attribution", sqlType: "numeric" },
  ...`title firstname lastname company position email mobile phone fax address1 address2 city state zipcode country
    preferred_locale timezone website facebook foursquare instagram linkedin skype twitter`
    .split(/\s+/)
    .map((name) => ({ name, sqlType: "text" })),
];

const UTM_MEMBERS = `'id', u.id, 'query', u.query, 'referer', u.referer, 'remoteHost', u.remote_host, 'url', u.url,
    'userAgent', u.user_agent, 'utmCampaign', u.utm_campaign, 'utmContent', u.utm_content, 'utmMedium', u.utm_medium,
    'utmSource', u.utm_source, 'utmTerm', u.utm_term`;

/** The stage `s` of a contact, as the API shows it. */
export const STAGE_JSON = `json_build_object('id', s.id, 'name', s.name, 'weight', s.weight,
    'description', s.description,
    'category', (select ${CATEGORY_JSON} from categories where categories.id = s.category_id))`;

const CONTACT_COMPANIES = `(select json_agg(json_build_object('id', co.id, 'name', co.companyname,
    'isPrimary', cc.is_primary) order by cc.date_added, co.id)
    from company_contacts cc join companies co on co.id = cc.company_id where cc.contact_id = c.id)`;

export const CONTACT_COLUMNS = [...OWN_COLUMNS, ...FIELD_COLUMNS];

/** Texts made of neighbouring tables: JSON for the answer, null where there is nothing. */
const DERIVED = {
  tags: `case when c.tag_ids <> '{}' then
    (select json_agg(json_build_object('id', t.id, 'tag', t.tag, 'description', t.description) order by t.tag)
     from tags t where t.id = any (c.tag_ids))
  end`,
  ip_addresses: `case when c.ip_address_ids <> '{}' then
    (select json_agg(json_build_object('id', i.id, 'ip', i.ip_address) order by i.id)
     from ip_addresses i where i.id = any (c.ip_address_ids))
  end`,
  utm_tags: `case when c.has_utm_tags then
    (select json_agg(json_build_object(${UTM_MEMBERS}) order by u.id) from utm_tags u where u.contact_id = c.id)
  end`,
  owner: `case when c.owner_id is not null then
    (select ${OWNER_JSON} from owners o where o.id = c.owner_id)
  end`,
  stage: `case when c.stage_id is not null then
    (select ${STAGE_JSON} from stages s where s.id = c.stage_id)
  end`,
};

/** The definitions of fields were of this revision when the row was read. */
const FIELD_REVISION = { field_revision: "(select revision from field_revision)" };

/** The select list of a contact `c`. */
export const CONTACT_SELECT = selectList({ ...DERIVED, ...FIELD_REVISION });

const GROUP_SCORES = `(select json_agg(json_build_object('groupId', s.group_id, 'score', s.score) order by s.group_id)
    from contact_group_scores s where s.contact_id = c.id)`;

/** The select list of a contact `c` with everything that its events carry. */
export const WHOLE_CONTACT_SELECT = selectList({
  ...DERIVED,
  ...FIELD_REVISION,
  companies: `case when c.company is not null then ${CONTACT_COMPANIES} end`,
  // Most installations have no point groups: Postgres asks that once, and not for each contact.
  group_scores: `case when (select exists (select from point_groups)) then ${GROUP_SCORES} end`,
});

export const contactTable = recordTable({
  name: "contacts",
  alias: "c",
  columns: CONTACT_COLUMNS,
  lockSelect: WHOLE_CONTACT_SELECT,
  identifiers: { table: "contact_identifiers", idColumn: "contact_id" },
});

function selectList(derived: Record<string, string>): string {
  const columns = CONTACT_COLUMNS.map(({ name }) => `c.${name}`);
  return [...columns, ...Object.entries(derived).map(([name, sql]) => `${sql} as ${name}`)].join(",\n  ");
}

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
  has_utm_tags: "f",
  custom: "{}",
  tags: null,
  ip_addresses: null,
  utm_tags: null,
  owner: null,
  stage: null,
  companies: null,
  group_scores: null,
};

/** A company that a contact belongs to. */
export interface CompanyLink {
  id: number;
  name: string;
  isPrimary: boolean;
}

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

/** In the order they were added. */
export function companiesOf(row: ContactRow): CompanyLink[] {
  return row.companies ? JSON.parse(row.companies) : [];
}

/** By channel. */
export function doNotContactOf(row: ContactRow): Record<string, DoNotContactEntry> {
  return row.do_not_contact && row.do_not_contact !== "{}" ? JSON.parse(row.do_not_contact) : {};
}

/** By channel, as the API shows them. */
export function frequencyRulesOf(row: ContactRow): Record<string, object> {
  return row.frequency_rules && row.frequency_rules !== "{}" ? JSON.parse(row.frequency_rules) : {};
}

/** Points that are counted apart. */
export interface GroupScore {
  groupId: number;
  score: number;
}

export function groupScoresOf(row: ContactRow): GroupScore[] {
  return row.group_scores ? JSON.parse(row.group_scores) : [];
}

const IDENTIFYING = ["firstname", "lastname", "company", "email"];

/** An anonymous contact has neither a name, a company, an address nor a social handle. */
export function isAnonymous(row: ContactRow, socialAliases: string[]): boolean {
  return [...IDENTIFYING, ...socialAliases].every((alias) => !row[alias]);
}
