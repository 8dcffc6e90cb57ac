import { create } from "@bufbuild/protobuf";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { timestampFromText } from "@tidings/store/timestamp";
import type { FieldCatalogue } from "../field/catalogue.ts";
import { fieldsWriter } from "../field/fields-json.ts";
import { isoTime } from "../field/value.ts";
import { withCustomValues } from "../field/values.ts";
import { type ContactRow, doNotContactOf, ipAddressesOf } from "./row.ts";

/** Everything a contact is turned into, prepared once for a catalogue of fields. */
export interface ContactWriter {
  /** What the API answers. */
  message(row: ContactRow): Contact;
  /** The contact of a webhook, written from a snapshot. */
  webhookJson(snapshot: Uint8Array): Buffer;
  /** The same of a contact as it is stored. */
  currentJson(row: ContactRow): Buffer;
}

const EMPTY_LIST = Buffer.from("[]");
const EMPTY_OBJECT = Buffer.from("{}");
const writers = new WeakMap<FieldCatalogue, ContactWriter>();

export function contactWriter(catalogue: FieldCatalogue): ContactWriter {
  const known = writers.get(catalogue);
  if (known) return known;
  const writer = createWriter(catalogue);
  writers.set(catalogue, writer);
  return writer;
}

function createWriter({ contact: set }: FieldCatalogue): ContactWriter {
  const fields = fieldsWriter(set);
  const json = (row: ContactRow) => Buffer.from(`{${webhookMembers(row)},"fields":{${fields.groups(row)}}}`);
  return {
    message(stored) {
      const row = withCustomValues(stored, set);
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
      if (row.owner) contact.owner = Buffer.from(row.owner);
      if (row.stage) contact.stage = Buffer.from(row.stage);
      contact.ipAddresses = row.ip_addresses ? jsonBytes(ipAddressesByAddress(row)) : EMPTY_OBJECT;
      contact.tags = row.tags ? Buffer.from(row.tags) : EMPTY_LIST;
      contact.utmtags = row.utm_tags ? Buffer.from(row.utm_tags) : EMPTY_LIST;
      contact.doNotContact = row.do_not_contact === "{}" ? EMPTY_LIST : jsonBytes(doNotContactList(row));
      contact.frequencyRules = Buffer.from(row.frequency_rules ?? "{}");
      contact.fields = fields.json(row);
      return contact;
    },
    webhookJson: (snapshot) => json(JSON.parse(Buffer.from(snapshot).toString())),
    currentJson: (row) => json(withCustomValues(row, set)),
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
    owner: jsonOrNull(row.owner),
    stage: jsonOrNull(row.stage),
    ipAddresses: Object.values(ipAddressesByAddress(row)),
    tags: jsonOrNull(row.tags) ?? [],
    utmtags: jsonOrNull(row.utm_tags) ?? [],
    doNotContact: doNotContactList(row),
    frequencyRules: JSON.parse(row.frequency_rules ?? "{}"),
    preferredProfileImage: "gravatar",
  };
  return JSON.stringify(members).slice(1, -1);
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
  const entries = Object.entries(doNotContactOf(row)).map(([channel, entry]) => ({ ...entry, channel }));
  return entries.sort((one, other) => one.id - other.id);
}

function jsonBytes(value: unknown): Buffer {
  return Buffer.from(JSON.stringify(value));
}

function jsonOrNull(text: string | null | undefined) {
  return text ? JSON.parse(text) : null;
}

function isoTimeOrNull(text: string | null | undefined): string | null {
  return text ? isoTime(text) : null;
}
