import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import type { Definitions } from "@tidings/contacts/definitions";
import { fieldText, type RecordSnapshot } from "@tidings/contacts/field-text";
import { type FieldsWriter, fieldsWriter, type ShownFields } from "@tidings/contacts/fields-json";
import { colorOf } from "@tidings/contacts/point-colors";
import type {
  CompanySnapshot,
  ContactSnapshot,
  ContactStage,
  ContactUtmTags,
  RecordOwner,
} from "@tidings/proto/tidings/contact/v1/snapshot";
import { parseJson } from "@tidings/resource/json-member";
import { isoSeconds } from "@tidings/runtime/iso-seconds";

/** A contact as receivers of webhooks read it, as JSON. */
export function contactJson(contact: ContactSnapshot, { contact: fields, colors }: Definitions): string {
  const members = {
    ...stampMembers(contact),
    points: contact.points,
    color: colorOf(colors, contact.points) ?? null,
    lastActive: isoTimeOrNull(contact.lastActive),
    dateIdentified: isoTimeOrNull(contact.dateIdentified),
    owner: ownerMember(contact.owner),
    stage: stageMember(contact.stage),
    ipAddresses: contact.ipAddresses.map(({ id, ip }) => ({ ip, id, ipAddress: ip, ipDetails: NO_DETAILS })),
    tags: contact.tags.map(({ id, tag, description }) => ({ id, tag, description: description ?? null })),
    utmtags: contact.utmTags.map(utmMember),
    doNotContact: doNotContactMember(contact),
    frequencyRules: frequencyRulesMember(contact),
    preferredProfileImage: "gravatar",
  };
  return withFields(members, fields, contact);
}

/** A contact as the lead of a hit or a submission. */
export function leadJson(contact: ContactSnapshot, { contact: fields, colors }: Definitions): string {
  const { id, points } = contact;
  return withFields({ id, points, color: colorOf(colors, points) ?? null }, fields, contact);
}

/** A contact as the one whom a mail was for: its values by the aliases of their fields. */
export function flatContactJson(contact: ContactSnapshot, { contact: fields }: Definitions): string {
  return `{${writerOf(fields).flat({ id: String(contact.id), ...textsOf(fields, contact) })}}`;
}

/** A company, likewise. */
export function companyJson(company: CompanySnapshot, { company: fields }: Definitions): string {
  const members = { ...stampMembers(company), score: company.score, owner: ownerMember(company.owner) };
  return withFields(members, fields, company);
}

const writers = new WeakMap<ShownFields, FieldsWriter>();

/** Groups of fields are written once for each set of definitions; values are put into them. */
function withFields(members: object, fields: ShownFields, record: RecordSnapshot): string {
  const groups = writerOf(fields).groups(textsOf(fields, record));
  return `${JSON.stringify(members).slice(0, -1)},"fields":{${groups}}}`;
}

function writerOf(fields: ShownFields): FieldsWriter {
  const writer = writers.get(fields) ?? fieldsWriter(fields);
  writers.set(fields, writer);
  return writer;
}

function textsOf({ fields }: ShownFields, record: RecordSnapshot): Record<string, string | null> {
  return Object.fromEntries(fields.map((field) => [field.alias, fieldText(record, field)]));
}

function stampMembers(record: ContactSnapshot | CompanySnapshot) {
  return {
    isPublished: record.isPublished,
    dateAdded: isoTimeOrNull(record.dateAdded),
    dateModified: isoTimeOrNull(record.dateModified),
    createdBy: record.createdBy ?? null,
    createdByUser: record.createdByUser ?? null,
    modifiedBy: record.modifiedBy ?? null,
    modifiedByUser: record.modifiedByUser ?? null,
    id: record.id,
  };
}

/** Owners and categories have no stamps here. */
const NO_STAMPS = { createdByUser: null, modifiedByUser: null };

function ownerMember(owner: RecordOwner | undefined) {
  if (!owner) return null;
  const { id, username, firstName, lastName } = owner;
  return {
    id,
    username: username ?? null,
    firstName: firstName ?? null,
    lastName: lastName ?? null,
    ...NO_STAMPS,
  };
}

function stageMember(stage: ContactStage | undefined) {
  if (!stage) return null;
  const { id, name, weight, description, category } = stage;
  return {
    id,
    name,
    weight,
    description: description ?? null,
    category: category
      ? {
          ...NO_STAMPS,
          id: category.id,
          title: category.title ?? null,
          alias: category.alias ?? null,
          description: category.description ?? null,
          color: category.color ?? null,
          bundle: category.bundle ?? null,
        }
      : null,
  };
}

function utmMember(tags: ContactUtmTags) {
  return {
    id: tags.id,
    query: tags.query ?? {},
    referer: tags.referer ?? null,
    remoteHost: tags.remoteHost ?? null,
    url: tags.url ?? null,
    userAgent: tags.userAgent ?? null,
    utmCampaign: tags.utmCampaign ?? null,
    utmContent: tags.utmContent ?? null,
    utmMedium: tags.utmMedium ?? null,
    utmSource: tags.utmSource ?? null,
    utmTerm: tags.utmTerm ?? null,
  };
}

/** The oldest first. */
function doNotContactMember({ doNotContact }: ContactSnapshot) {
  return Object.entries(doNotContact)
    .map(([channel, { id, dateAdded, reason, comments, channelId }]) => ({
      id,
      reason,
      comments,
      channelId: channelId ?? null,
      dateAdded: isoTimeOrNull(dateAdded),
      channel,
    }))
    .sort((one, other) => one.id - other.id);
}

function frequencyRulesMember({ frequencyRules }: ContactSnapshot) {
  return Object.fromEntries(
    Object.entries(frequencyRules).map(([channel, rule]) => [
      channel,
      {
        channel,
        pauseToDate: isoTimeOrNull(rule.pauseToDate),
        frequencyTime: rule.frequencyTime ?? null,
        pauseFromDate: isoTimeOrNull(rule.pauseFromDate),
        frequencyNumber: rule.frequencyNumber ?? null,
        preferredChannel: rule.preferredChannel,
      },
    ]),
  );
}

/** Nothing is known of where an address is. */
const NO_DETAILS = Object.fromEntries(
  "city region zipcode country latitude longitude isp organization timezone extra"
    .split(" ")
    .map((name) => [name, ""]),
);

/** Null where nothing was sent. */
export function jsonMember(json: Uint8Array): unknown {
  return json.length > 0 ? parseJson(json) : null;
}

export function isoTimeOrNull(time: Timestamp | undefined): string | null {
  return time ? isoSeconds(timestampDate(time)) : null;
}

/** An address as receivers get it: null where addresses are not kept. */
export function ipMember(ip: string) {
  return ip ? { ip } : null;
}
