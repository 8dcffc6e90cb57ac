import { create } from "@bufbuild/protobuf";
import { fieldsWriter } from "@tidings/contacts/fields-json";
import { colorOf } from "@tidings/contacts/point-colors";
import { timestampFromText } from "@tidings/database/timestamp";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { FormedJson } from "@tidings/proto/tidings/type/v1/formed_json";
import type { Call } from "@tidings/rpc/call";
import { catalogueOf, type FieldCatalogue, type FieldContext } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { fillStamps, perCatalogue } from "../record/answer.ts";
import { type ContactRow, doNotContactOf, ipAddressesOf } from "../rows/contact.ts";

/** Everything a contact is turned into, prepared once for a catalogue of fields. */
export interface ContactWriter {
  /** The message of a contact as the API answers it. */
  message(row: ContactRow): Contact;
  /** The messages of one answer: what is constant in them comes with the first. */
  messages(): (row: ContactRow) => Contact;
}

const EMPTY_LIST = Buffer.from("[]");
const EMPTY_OBJECT = Buffer.from("{}");
export const contactWriter = perCatalogue(createWriter);

/** A contact as the API answers it, under the definitions of fields it was read or written with. */
export async function writeContact(
  { catalogues }: FieldContext,
  row: ContactRow,
  call: Call,
): Promise<Contact> {
  call.showsVersion?.(Number(row.version));
  return contactWriter(await catalogueOf(catalogues, [row])).message(row);
}

function createWriter({ contact: set, colors }: FieldCatalogue): ContactWriter {
  const fields = fieldsWriter(set);
  const write = (stored: ContactRow, fieldsOf: (row: ContactRow) => FormedJson): Contact => {
    const row = withCustomValues(stored, set);
    const contact = create(ContactSchema);
    fillStamps(contact, row);
    contact.points = Number(row.points);
    const color = colorOf(colors, contact.points);
    if (color !== undefined) contact.color = color;
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
    contact.fields = fieldsOf(row);
    return contact;
  };
  return {
    message: (stored) => write(stored, fields.alone),
    messages() {
      const fieldsOf = fields.together();
      return (stored) => write(stored, fieldsOf);
    },
  };
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
