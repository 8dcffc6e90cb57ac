import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Outcome } from "@tidings/commands/once";
import { joined, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { IdentifyContact } from "@tidings/proto/tidings/contact/v1/command";
import { type Company, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { isObject, jsonBytes, parseJson } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { Fault } from "@tidings/rpc/fault";
import { companySaver } from "../company/save.ts";
import { usableTags } from "../contact/body.ts";
import { contactMerged, mergeContacts } from "../contact/merge.ts";
import { addNewContacts } from "../contact/new-contacts.ts";
import { type ContactContext, contactSaver } from "../contact/save.ts";
import { wholeContacts } from "../contact/whole.ts";
import type { Field, FieldCatalogue, FieldSet } from "../field/catalogue.ts";
import { readFieldValue } from "../field/value.ts";
import { type FieldValues, withCustomValues } from "../field/values.ts";
import { claimOf, isOutrun, valueClaims } from "../record/identifier.ts";
import { type ContactRow, companiesOf, contactTable } from "../rows/contact.ts";

export interface Identifying {
  context: ContactContext;
  catalogue: FieldCatalogue;
  transaction: Transaction;
  call: Call;
}

/** A contact that was there before, and was found by what somebody said. */
export interface Found {
  found: number;
}

/** Values that a visitor sent, and the contact that they were until then. */
interface Said {
  contactId: number;
  command: IdentifyContact;
  values: FieldValues;
}

/**
 * Finds out who visitors are by what they said, and writes it (engines.md 5.5 for forms, 7.2 for tracking). One after the other: each may
 * make another contact of the ones that the next is about. One that is refused leaves nothing behind.
 */
export async function identifyContacts(
  identifying: Identifying,
  commands: { contactId: number; effect: { value: IdentifyContact } }[],
): Promise<Outcome<number | Found>[]> {
  const outcomes: Outcome<number | Found>[] = [];
  for (const { contactId, effect } of commands) {
    try {
      outcomes.push({ value: await identifyAlone(identifying, contactId, effect.value) });
    } catch (error) {
      // A fault with a cause is a statement's.
      if (!(error instanceof Fault) || error.cause !== undefined) throw error;
      outcomes.push({ fault: error });
    }
  }
  return outcomes;
}

const ATTEMPTS = 6;

/** Identifies one visitor, again when another transaction was faster. What it did is taken back when it is refused. */
export async function identifyAlone(
  { transaction, ...identifying }: Identifying,
  contactId: number,
  command: IdentifyContact,
): Promise<number | Found> {
  const { context } = identifying;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction.savepoint((own) => {
        const within = { ...context, database: joined(context.database, own) };
        return identify({ ...identifying, context: within, transaction: own }, contactId, command);
      });
    } catch (error) {
      if (!isOutrun(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

async function identify(
  identifying: Identifying,
  sentId: number,
  command: IdentifyContact,
): Promise<number | Found> {
  const { catalogue, call, context } = identifying;
  const set = catalogue.contact;
  const said = { contactId: sentId, command, values: usableValues(command.values, set, command.isPublic) };
  const tracked = command.isKiosk ? undefined : await trackedContact(identifying, sentId, command.isNew);
  const known = await holderOf(identifying, said, tracked);
  const chosen = await choose(identifying, said, { tracked, known });
  const id = chosen ? Number(chosen.row.id) : await begin(identifying, said, tracked);
  if (command.isNew && id !== sentId) leadOn(identifying, sentId, id);
  await mergeAnonymous(identifying, id, command.mergedId);
  const isProven = chosen?.isFound === false && command.isProven;
  const isKept = command.keepsKnownValues && !isProven;
  await write(identifying, said, { id, chosen, kept: isKept ? chosen?.before : undefined });
  await writeCompany(context, { id, values: command.companyValues, call }, identifying);
  return chosen?.isFound ? { found: id } : id;
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

const survivorStatement = prepared(
  "contacts_survivor",
  "select coalesce((select contact_id from contact_redirects where merged_id = $1::integer), $1::integer) as id",
);

/** The contact as it is now, or the one that it became a part of; undefined when there is none. */
async function readContact(
  { transaction, catalogue }: Identifying,
  id: number,
): Promise<ContactRow | undefined> {
  if (id <= 0) return undefined;
  const [survivor] = await transaction.query(survivorStatement, [id]);
  const [row] = await wholeContacts(transaction.query, [Number(survivor?.id)]);
  return row && withCustomValues(row, catalogue.contact);
}

/** The contact that the visitor was until now. One that was seen may be there a moment later than what was said. */
async function trackedContact(
  identifying: Identifying,
  id: number,
  isNew: boolean,
): Promise<ContactRow | undefined> {
  const { context, transaction, catalogue } = identifying;
  const known = await readContact(identifying, id);
  if (known || isNew || id <= 0) return known;
  await addNewContacts(context, { transaction, set: catalogue.contact }, [{ id, at: Date.now() }]);
  return readContact(identifying, id);
}

/** The newest other contact that has one of the unique values. */
async function holderOf(
  { transaction, catalogue }: Identifying,
  { values }: Said,
  tracked: ContactRow | undefined,
): Promise<ContactRow | undefined> {
  const claims = valueClaims(catalogue.contact, values);
  const rows = await contactTable.lock(transaction, [], claims);
  const others = rows.filter(({ id }) => id !== tracked?.id);
  const newest = others.toSorted((one, other) => (ageOf(one) < ageOf(other) ? 1 : -1))[0];
  return newest && withCustomValues(newest, catalogue.contact);
}

function ageOf({ date_added, id }: ContactRow): string {
  return `${date_added} ${String(id).padStart(10, "0")}`;
}

interface Candidates {
  tracked: ContactRow | undefined;
  known: ContactRow | undefined;
}

/** A contact, and whether it was found by what the visitor said. */
interface Chosen {
  row: ContactRow;
  /** As it was before the visitor was merged in. */
  before: ContactRow;
  isFound: boolean;
}

/** The contact that the visitor is; undefined for a new one. */
async function choose(
  identifying: Identifying,
  { values, command }: Said,
  { tracked, known }: Candidates,
): Promise<Chosen | undefined> {
  const { identifiers } = identifying.catalogue.contact;
  const chosen = await chosenOf(identifying, command, { tracked, known });
  // Another person at the same machine.
  if (!chosen || (!command.isKiosk && contradicts(chosen.row, values, identifiers))) return undefined;
  return chosen;
}

async function chosenOf(
  identifying: Identifying,
  { isKiosk, isPublic }: IdentifyContact,
  { tracked, known }: Candidates,
): Promise<Chosen | undefined> {
  if (!known) return tracked && { row: tracked, before: tracked, isFound: false };
  if (isKiosk || !tracked || areTwo(tracked, known, identifying.catalogue.contact))
    return { row: known, before: known, isFound: true };
  // A form makes the known contact a part of the tracked one, tracking the other way round.
  const [kept, gone] = isPublic ? [known, tracked] : [tracked, known];
  const { context, call } = identifying;
  const row = await mergeContacts(context, { id: Number(kept.id), mergedId: Number(gone.id) }, call);
  return { row, before: known, isFound: true };
}

/** Do the contacts have different values in a unique field? */
function areTwo(one: ContactRow, other: ContactRow, { identifiers }: FieldSet): boolean {
  const claimedBy = (row: ContactRow, field: Field) => claimOf(field, row[field.alias])?.value;
  return identifiers.some((field) => {
    const [first, second] = [claimedBy(one, field), claimedBy(other, field)];
    return first !== undefined && second !== undefined && first !== second;
  });
}

function contradicts(row: ContactRow, values: FieldValues, identifiers: Field[]): boolean {
  return identifiers.some((field) => {
    const [said, kept] = [claimOf(field, values.get(field.alias)), claimOf(field, row[field.alias])];
    return said !== undefined && kept !== undefined && said.value !== kept.value;
  });
}

/** A new contact, under the id that the visitor has already where that is free. */
async function begin(
  { context, transaction, catalogue }: Identifying,
  { contactId, command }: Said,
  tracked: ContactRow | undefined,
): Promise<number> {
  const id = command.isKiosk || tracked || contactId <= 0 ? command.newContactId : contactId;
  await addNewContacts(context, { transaction, set: catalogue.contact }, [{ id, at: Date.now() }]);
  return id;
}

const leadOnStatement = prepared(
  "contacts_lead_on",
  `insert into contact_redirects (merged_id, contact_id, date_added) values ($1, $2, now()) on conflict do nothing`,
);

/** The id that the visitor was shown is not a contact's: it leads to the one that they are, also in services that have facts of it. */
function leadOn({ context, transaction }: Identifying, sentId: number, id: number): void {
  if (sentId <= 0) return;
  transaction.execute(leadOnStatement, [sentId, id]);
  context.outbox.append(transaction, [contactMerged(sentId, 1, id)]);
}

/** The contact that a device had begun becomes a part of this one, where nothing else is known of it. */
async function mergeAnonymous(
  identifying: Identifying,
  id: number,
  mergedId: number | undefined,
): Promise<void> {
  if (mergedId === undefined || mergedId === id) return;
  const merged = await readContact(identifying, mergedId);
  if (!merged || merged.date_identified || Number(merged.id) === id) return;
  const { context, call } = identifying;
  await mergeContacts(context, { id, mergedId: Number(merged.id) }, call);
}

interface Written {
  id: number;
  chosen: Chosen | undefined;
  /** A contact whose known values stay. */
  kept: ContactRow | undefined;
}

async function write(
  { context, catalogue, call }: Identifying,
  { command, values }: Said,
  { id, chosen, kept }: Written,
): Promise<void> {
  const written = kept && chosen ? besideKnown(values, catalogue.contact, { kept, now: chosen.row }) : values;
  const message = create(ContactSchema, {
    values: jsonBytes(Object.fromEntries(written)),
    tags: jsonBytes(usableTags(command.tags)),
    ipAddress: command.ip,
    lastActive: timestampFromMs(Date.now()),
  });
  const [outcome] = await contactSaver(context).many([{ id, message }], call);
  if (outcome && "fault" in outcome) throw outcome.fault;
}

/** Values that leave the known ones as they were: said ones where none was known, and known ones that the merge replaced by earlier said ones. */
function besideKnown(
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

/** Values of the company that the contact belongs to first: the one of that name, a new one, or the one it has. */
async function writeCompany(
  context: ContactContext,
  { id, values: json, call }: { id: number; values: Uint8Array; call: Call },
  identifying: Identifying,
): Promise<void> {
  const sent: unknown = json.length > 0 ? parseJson(json) : {};
  if (!isObject(sent) || Object.keys(sent).length === 0) return;
  const { companyname: name, ...rest } = sent;
  if (name) {
    const message = create(ContactSchema, { values: jsonBytes({ company: name }) });
    await contactSaver(context).many([{ id, message }], call);
  }
  const row = await readContact(identifying, id);
  const company = row && companiesOf(row).find(({ isPrimary }) => isPrimary);
  const values = Object.fromEntries(
    [...usableValues(jsonBytes(rest), identifying.catalogue.company, false)].filter(([, value]) => value),
  );
  if (!company || Object.keys(values).length === 0) return;
  const message: Company = create(CompanySchema, { values: jsonBytes(values) });
  await companySaver(context).many([{ id: company.id, message }], call);
}
