import { create } from "@bufbuild/protobuf";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { timestampFromText } from "@tidings/store/timestamp";
import { FIELD_GROUPS, type Field, type FieldCatalogue } from "./field.ts";
import { isoTime } from "./field-value.ts";
import { type ContactRow, doNotContactOf, ipAddressesOf } from "./row.ts";

/** Everything a contact is turned into, prepared once for a catalogue of fields. */
export interface ContactWriter {
  /** What the API answers. */
  message(row: ContactRow): Contact;
  /** What an event carries: the row without its empty columns. */
  snapshot(row: ContactRow): Uint8Array;
  /** The contact of a webhook, written from a snapshot. */
  webhookJson(snapshot: Uint8Array): Buffer;
}

const EMPTY_LIST = Buffer.from("[]");
const EMPTY_OBJECT = Buffer.from("{}");

export function contactWriter(catalogue: FieldCatalogue): ContactWriter {
  const groups = fieldGroupsWriter(catalogue);
  const all = flatFieldsWriter(catalogue);
  return {
    message(row) {
      const contact = create(ContactSchema);
      contact.id = Number(row.id);
      contact.isPublished = row.is_published === "t";
      if (row.date_added) contact.dateAdded = timestampFromText(row.date_added);
      if (row.created_by) contact.createdBy = Number(row.created_by);
      if (row.created_by_user) contact.createdByUser = row.created_by_user;
      if (row.date_modified) contact.dateModified = timestampFromText(row.date_modified);
      if (row.modified_by) contact.modifiedBy = Number(row.modified_by);
      if (row.modified_by_user) contact.modifiedByUser = row.modified_by_user;
      contact.points = Number(row.points);
      if (row.last_active) contact.lastActive = timestampFromText(row.last_active);
      if (row.date_identified) contact.dateIdentified = timestampFromText(row.date_identified);
      contact.preferredProfileImage = "gravatar";
      contact.ipAddresses = row.ip_addresses ? jsonBytes(ipAddressesByAddress(row)) : EMPTY_OBJECT;
      contact.tags = row.tags ? Buffer.from(row.tags) : EMPTY_LIST;
      contact.utmtags = EMPTY_LIST;
      contact.doNotContact = row.do_not_contact === "{}" ? EMPTY_LIST : jsonBytes(doNotContactList(row));
      contact.frequencyRules = Buffer.from(row.frequency_rules ?? "{}");
      contact.fields = Buffer.from(`{${groups(row)},"all":{"id":${row.id}${all(row)}}}`);
      return contact;
    },
    snapshot: (row) => Buffer.from(JSON.stringify(row, (_name, value) => value ?? undefined)),
    webhookJson(snapshot) {
      const row: ContactRow = JSON.parse(Buffer.from(snapshot).toString());
      return Buffer.from(`{${webhookMembers(row)},"fields":{${groups(row)}}}`);
    },
  };
}

function webhookMembers(row: ContactRow): string {
  const members = {
    isPublished: row.is_published === "t",
    dateAdded: isoTimeOrNull(row.date_added),
    dateModified: isoTimeOrNull(row.date_modified),
    createdBy: row.created_by ? Number(row.created_by) : null,
    createdByUser: row.created_by_user ?? null,
    modifiedBy: row.modified_by ? Number(row.modified_by) : null,
    modifiedByUser: row.modified_by_user ?? null,
    id: row.id ? Number(row.id) : null,
    points: Number(row.points ?? 0),
    color: null,
    lastActive: isoTimeOrNull(row.last_active),
    dateIdentified: isoTimeOrNull(row.date_identified),
    owner: null,
    stage: null,
    ipAddresses: Object.values(ipAddressesByAddress(row)),
    tags: row.tags ? JSON.parse(row.tags) : [],
    utmtags: [],
    doNotContact: doNotContactList(row),
    frequencyRules: JSON.parse(row.frequency_rules ?? "{}"),
    preferredProfileImage: "gravatar",
  };
  return JSON.stringify(members).slice(1, -1);
}

/** Writes the groups, without the braces around them. All but the values is text made beforehand. */
function fieldGroupsWriter(catalogue: FieldCatalogue): (row: ContactRow) => string {
  const groups = FIELD_GROUPS.map((group) => ({
    opening: `"${group}":{`,
    fields: catalogue.fields.filter((field) => field.group === group).map(fieldEntryWriter),
  }));
  return (row) => {
    let text = "";
    for (const { opening, fields } of groups) {
      text += text === "" ? opening : `,${opening}`;
      let separator = "";
      for (const write of fields) {
        text += separator + write(row);
        separator = ",";
      }
      text += "}";
    }
    return text;
  };
}

function fieldEntryWriter(field: Field): (row: ContactRow) => string {
  const definition = {
    id: String(field.id),
    label: field.label,
    alias: field.alias,
    type: field.type,
    group: field.group,
    object: "lead",
    is_fixed: field.isFixed ? "1" : "0",
    field_order: String(field.order),
    properties: Object.keys(field.properties).length > 0 ? field.properties : [],
    default_value: field.defaultValue,
  };
  const opening = `${JSON.stringify(field.alias)}:${JSON.stringify(definition).slice(0, -1)},"value":`;
  const unset = `${opening}null,"normalizedValue":null}`;
  const value = valueWriter(field);
  return (row) => {
    const text = row[field.alias];
    if (text === null || text === undefined) return unset;
    const json = value(text);
    return `${opening}${json},"normalizedValue":${json}}`;
  };
}

function flatFieldsWriter(catalogue: FieldCatalogue): (row: ContactRow) => string {
  const fields = catalogue.fields.map((field) => ({
    alias: field.alias,
    opening: `,${JSON.stringify(field.alias)}:`,
    value: valueWriter(field),
  }));
  return (row) => {
    let text = "";
    for (const { alias, opening, value } of fields) {
      const column = row[alias];
      text += opening + (column === null || column === undefined ? "null" : value(column));
    }
    return text;
  };
}

/** A column's text as JSON: numbers as they are, date-times as `Y-m-d H:i:s`, all else a string. */
function valueWriter(field: Field): (text: string) => string {
  if (field.type === "number") return (text) => String(Number(text));
  if (field.type === "datetime") return (text) => `"${text.slice(0, 19)}"`;
  return (text) => JSON.stringify(text);
}

/** Nothing is known of where an address is. */
const NO_DETAILS = Object.fromEntries(
  "city region zipcode country latitude longitude isp organization timezone extra"
    .split(" ")
    .map((name) => [name, ""]),
);

function ipAddressesByAddress(row: ContactRow) {
  return Object.fromEntries(
    ipAddressesOf(row).map(({ id, ip }) => [ip, { ip, id, ipAddress: ip, ipDetails: NO_DETAILS }]),
  );
}

function doNotContactList(row: ContactRow) {
  return Object.entries(doNotContactOf(row)).map(([channel, entry]) => ({ ...entry, channel }));
}

function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function isoTimeOrNull(text: string | null | undefined): string | null {
  return text ? isoTime(text) : null;
}
