import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Transaction } from "@tidings/database/transaction";
import type { IdentifyContact } from "@tidings/proto/tidings/contact/v1/command";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { isObject, jsonBytes, parseJson } from "@tidings/resource/json-member";
import { usableTags } from "../contact/body.ts";
import { assertLatest, type Field, type FieldCatalogue, type FieldSet } from "../field/catalogue.ts";
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

/**
 * Reads the values of commands, without those that the fields of this catalogue do not take. Where it leaves a name out, it makes sure that no later
 * catalogue has a field for it.
 */
export async function readSaid(
  { catalogue, transaction }: { catalogue: FieldCatalogue; transaction: Transaction },
  commands: { contactId: number; command: IdentifyContact }[],
): Promise<Said[]> {
  const { contact, company } = catalogue;
  if (commands.some(({ command }) => namesUnusable(catalogue, command)))
    await assertLatest(catalogue, transaction);
  return commands.map(({ contactId, command }) => ({
    contactId,
    command,
    values: usableValues(command.values, contact, command.isPublic),
    companyValues: usableValues(command.companyValues, company, command.isPublic),
  }));
}

/** Does a command have a value that no field takes, neither of contacts nor of companies? */
function namesUnusable({ contact, company }: FieldCatalogue, command: IdentifyContact): boolean {
  const isUsable = (alias: string) =>
    [contact, company].some(({ byAlias }) => takes(byAlias.get(alias), command.isPublic));
  return [command.values, command.companyValues]
    .flatMap((json) => Object.keys(objectOf(json)))
    .some((alias) => !isUsable(alias));
}

function objectOf(json: Uint8Array): Record<string, unknown> {
  const sent: unknown = json.length > 0 ? parseJson(json) : {};
  return isObject(sent) ? sent : {};
}

function takes(field: Field | undefined, isPublic: boolean): field is Field {
  return field !== undefined && (!isPublic || field.isPubliclyUpdatable);
}

/** Values of known fields, without those that are blank or that the field does not take. */
export function usableValues(json: Uint8Array, set: FieldSet, isPublic: boolean): FieldValues {
  const sent = objectOf(json);
  const values: FieldValues = new Map();
  for (const field of set.fields) {
    if (!Object.hasOwn(sent, field.alias) || !takes(field, isPublic)) continue;
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
