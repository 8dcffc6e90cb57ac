import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { IdentifyContact } from "@tidings/proto/tidings/contact/v1/command";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { isObject, jsonBytes, parseJson } from "@tidings/resource/json-member";
import { usableTags } from "../contact/body.ts";
import type { Field, FieldCatalogue, FieldSet } from "../field/catalogue.ts";
import { readFieldValue } from "../field/value.ts";
import type { FieldValues } from "../field/values.ts";
import { claimOf } from "../record/identifier.ts";
import type { ContactRow } from "../rows/contact.ts";

/** Values that a visitor sent, and the contact that they were until then. */
export interface Said {
  contactId: number;
  command: IdentifyContact;
  values: FieldValues;
  companyValues: FieldValues;
}

/** Reads the values of a command, without those that the fields of this catalogue do not take. */
export function readSaid(
  { contact, company }: FieldCatalogue,
  contactId: number,
  command: IdentifyContact,
): Said {
  const { isPublic } = command;
  const values = usableValues(command.values, contact, isPublic);
  return {
    contactId,
    command,
    values,
    companyValues: usableValues(command.companyValues, company, isPublic),
  };
}

/** Values of known fields, without those that are blank or that the field does not take. */
export function usableValues(json: Uint8Array, set: FieldSet, isPublic: boolean): FieldValues {
  const sent: unknown = json.length > 0 ? parseJson(json) : {};
  const values: FieldValues = new Map();
  if (!isObject(sent)) return values;
  for (const field of set.fields) {
    if (!Object.hasOwn(sent, field.alias) || (isPublic && !field.isPubliclyUpdatable)) continue;
    const read = readFieldValue(field, sent[field.alias]);
    if ("value" in read && read.value !== null) values.set(field.alias, read.value);
  }
  return values;
}

/** Do the values say another one in a unique field than the contact has? */
export function contradicts(row: ContactRow, values: FieldValues, identifiers: Field[]): boolean {
  return identifiers.some((field) => {
    const [said, kept] = [claimOf(field, values.get(field.alias)), claimOf(field, row[field.alias])];
    return said !== undefined && kept !== undefined && said.value !== kept.value;
  });
}

/** The edit of a contact by what a visitor said. */
export function messageOf(command: IdentifyContact, values: FieldValues): Contact {
  return create(ContactSchema, {
    values: jsonBytes(Object.fromEntries(values)),
    tags: jsonBytes(usableTags(command.tags)),
    ipAddress: command.ip,
    lastActive: timestampFromMs(Date.now()),
  });
}

/** Values that leave the known ones as they were: said ones where none was known, and known ones that the merge replaced by earlier said ones. */
export function besideKnown(
  values: FieldValues,
  { fields }: FieldSet,
  { kept, now }: { kept: ContactRow; now: ContactRow },
): FieldValues {
  const written: FieldValues = new Map();
  for (const { alias } of fields) {
    const [known, said] = [kept[alias], values.get(alias)];
    if (!known && said) written.set(alias, said);
    if (known && now[alias] !== known) written.set(alias, known);
  }
  return written;
}
