import { create } from "@bufbuild/protobuf";
import { joined, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { IdentifyContact } from "@tidings/proto/tidings/contact/v1/command";
import { type Company, CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import { jsonBytes } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { Fault, unavailable } from "@tidings/rpc/fault";
import { addConsents } from "../belonging/consent.ts";
import { companySaver } from "../company/save.ts";
import { noteIdentifications } from "../contact/identifications.ts";
import { contactMerged, mergeContacts } from "../contact/merge.ts";
import { addHeldContacts } from "../contact/new-contacts.ts";
import { type ContactContext, contactSaver } from "../contact/save.ts";
import { wholeContacts } from "../contact/whole.ts";
import type { Field, FieldCatalogue, FieldSet } from "../field/catalogue.ts";
import { type FieldValues, withCustomValues } from "../field/values.ts";
import { claimOf, isOutrun, valueClaims } from "../record/identifier.ts";
import { type ContactRow, companiesOf } from "../rows/contact.ts";
import { InvolvedSince, lockInvolved } from "./involved.ts";
import { besideKnown, contradicts, messageOf, type Said } from "./said.ts";

export interface Identifying {
  context: ContactContext;
  catalogue: FieldCatalogue;
  transaction: Transaction;
  call: Call;
}

/** A contact that was there before, and was found by what somebody said. */
export interface Found {
  found: number;
  /** The visitor's contact and that one stay two. */
  isApart?: true;
}

const ATTEMPTS = 6;

/** Finds out who a visitor is, and writes what was said. A command that is refused leaves nothing behind. */
export async function identifyAlone(
  { transaction, ...identifying }: Identifying,
  said: Said,
): Promise<number | Found> {
  const { context } = identifying;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await transaction.savepoint((own) => {
        const within = { ...context, database: joined(context.database, own) };
        return identify({ ...identifying, context: within, transaction: own }, said);
      });
    } catch (error) {
      // A value that nobody had when we looked may be somebody's since.
      const isTaken = isOutrun(error) || (error instanceof Fault && error.reason === "TAKEN");
      const isToRepeat = isTaken || error instanceof InvolvedSince;
      if (isToRepeat && attempt < ATTEMPTS) continue;
      throw error instanceof InvolvedSince ? unavailable(error) : error;
    }
  }
}

async function identify(identifying: Identifying, said: Said): Promise<number | Found> {
  const { contactId: sentId, command } = said;
  const holders = await lockInvolved(identifying, said);
  const findTracked = command.isNew ? readContact : seenContact;
  const tracked = command.isKiosk ? undefined : await findTracked(identifying, sentId);
  const known = newestOf(holders.filter(({ id: holderId }) => holderId !== tracked?.id));
  const candidate = await chosenOf(identifying, command, { tracked, known });
  const chosen = candidate && isAnother(identifying, said, candidate) ? undefined : candidate;
  const id = chosen ? Number(chosen.row.id) : await begin(identifying, said, tracked);
  if (command.isNew && id !== sentId) leadOn(identifying, sentId, id);
  await mergeAnonymous(identifying, id, command);
  const isProven = chosen?.isFound === false && command.isProven;
  const isKept = command.keepsKnownValues && !isProven;
  await write(identifying, said, { id, chosen, kept: isKept ? chosen?.before : undefined });
  await writeCompany(identifying, id, said.companyValues);
  await noteSaid(identifying, [{ said, id, isNew: !chosen, isMerged: chosen?.isMerged === true }]);
  // Merged, the visitor's former contact has what was known of the other, also where the visitor turned out to be a third.
  if (candidate?.isMerged) return { found: id };
  return chosen?.isFound ? { found: id, isApart: true } : id;
}

/** A command that took effect on a contact. */
interface Effective {
  said: Said;
  id: number;
  /** The contact begins with it. */
  isNew: boolean;
  /** Another contact became a part of this one, which its merge has noted. */
  isMerged?: boolean;
}

/** Notes by what visitors were recognised and what they consented to. Values that identify nobody prove nothing. */
export async function noteSaid(
  { transaction, catalogue }: Identifying,
  effective: Effective[],
): Promise<void> {
  const at = Date.now();
  const proven = effective.filter(
    ({ said: { values, command }, isNew, isMerged }) =>
      command.proof !== "" && !isMerged && (isNew || valueClaims(catalogue.contact, values).length > 0),
  );
  noteIdentifications(
    transaction,
    proven.map(({ said: { command }, id }) => {
      const { proof, deviceId } = command;
      return { contactId: id, at, proof, deviceId };
    }),
  );
  const consents = effective.flatMap(({ said: { command }, id }) =>
    command.consent ? [{ contactId: id, at, ...command.consent }] : [],
  );
  await addConsents(transaction, consents);
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

/** The contact that a browser was given when it was seen. It may be written a moment later than what is said of it: it begins here then. */
async function seenContact(identifying: Identifying, id: number): Promise<ContactRow | undefined> {
  const { context, transaction, catalogue } = identifying;
  const known = await readContact(identifying, id);
  if (known || id <= 0) return known;
  await addHeldContacts(context, { transaction, set: catalogue.contact }, [{ id, at: Date.now() }]);
  return readContact(identifying, id);
}

function newestOf(rows: ContactRow[]): ContactRow | undefined {
  return rows.toSorted((one, other) => (ageOf(one) < ageOf(other) ? 1 : -1))[0];
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
  /** Another contact became a part of it. */
  isMerged?: boolean;
}

/** The members of a merge that say by what two contacts are one. */
function provenBy({ proof, deviceId }: IdentifyContact) {
  return proof === "" ? {} : { proof, deviceId };
}

/** Does what was said contradict the contact? Then it is another person at the same machine. */
function isAnother(
  { catalogue }: Identifying,
  { values, command }: Said,
  { row }: Pick<Chosen, "row">,
): boolean {
  return !command.isKiosk && contradicts(row, values, catalogue.contact.identifiers);
}

/** The contact that the visitor seems to be; undefined for a new one. */
async function chosenOf(
  identifying: Identifying,
  command: IdentifyContact,
  { tracked, known }: Candidates,
): Promise<Chosen | undefined> {
  const { isKiosk, isPublic } = command;
  if (!known) return tracked && { row: tracked, before: tracked, isFound: false };
  if (isKiosk || !tracked || areTwo(tracked, known, identifying.catalogue.contact))
    return { row: known, before: known, isFound: true };
  // A form makes the known contact a part of the tracked one, tracking the other way round.
  const [kept, gone] = isPublic ? [known, tracked] : [tracked, known];
  const { context, call } = identifying;
  const merging = { id: Number(kept.id), mergedId: Number(gone.id), ...provenBy(command) };
  const row = await mergeContacts(context, merging, call);
  return { row, before: known, isFound: true, isMerged: true };
}

/** Do the contacts have different values in a unique field? */
function areTwo(one: ContactRow, other: ContactRow, { identifiers }: FieldSet): boolean {
  const claimedBy = (row: ContactRow, field: Field) => claimOf(field, row[field.alias])?.value;
  return identifiers.some((field) => {
    const [first, second] = [claimedBy(one, field), claimedBy(other, field)];
    return first !== undefined && second !== undefined && first !== second;
  });
}

/** A new contact, under the id that the visitor has already where that is free. */
async function begin(
  { context, transaction, catalogue }: Identifying,
  { contactId, command }: Said,
  tracked: ContactRow | undefined,
): Promise<number> {
  const id = command.isKiosk || tracked || contactId <= 0 ? command.newContactId : contactId;
  await addHeldContacts(context, { transaction, set: catalogue.contact }, [{ id, at: Date.now() }]);
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
async function mergeAnonymous(identifying: Identifying, id: number, command: IdentifyContact): Promise<void> {
  const { mergedId } = command;
  if (mergedId === undefined || mergedId === id) return;
  const merged = await seenContact(identifying, mergedId);
  if (!merged || merged.date_identified || Number(merged.id) === id) return;
  const { context, call } = identifying;
  await mergeContacts(context, { id, mergedId: Number(merged.id), ...provenBy(command) }, call);
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
  const [outcome] = await contactSaver(context).many([{ id, message: messageOf(command, written) }], call);
  if (outcome && "fault" in outcome) throw outcome.fault;
}

/** Values of the company that the contact belongs to first: the one of that name, a new one, or the one it has. */
async function writeCompany(identifying: Identifying, id: number, sent: FieldValues): Promise<void> {
  const { context, call } = identifying;
  const values = new Map(sent);
  const name = values.get("companyname");
  values.delete("companyname");
  if (name) {
    const message = create(ContactSchema, { values: jsonBytes({ company: name }) });
    await contactSaver(context).many([{ id, message }], call);
  }
  if (values.size === 0) return;
  const row = await readContact(identifying, id);
  const company = row && companiesOf(row).find(({ isPrimary }) => isPrimary);
  if (!company) return;
  const message: Company = create(CompanySchema, { values: jsonBytes(Object.fromEntries(values)) });
  await companySaver(context).many([{ id: company.id, message }], call);
}
