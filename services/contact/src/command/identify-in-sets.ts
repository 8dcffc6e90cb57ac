import { ALONE, type Outcome } from "@tidings/commands/once";
import { joined } from "@tidings/database/database";
import type { IdentifyContact } from "@tidings/proto/tidings/contact/v1/command";
import { Fault } from "@tidings/rpc/fault";
import { addNewContacts } from "../contact/new-contacts.ts";
import { readContacts } from "../contact/referred.ts";
import { contactSaver } from "../contact/save.ts";
import { wholeContacts } from "../contact/whole.ts";
import { withCustomValues } from "../field/values.ts";
import { isOutrun, valueClaims } from "../record/identifier.ts";
import type { ContactRow } from "../rows/contact.ts";
import { type Found, type Identifying, identifyAlone, noteSaid } from "./identify.ts";
import { holdersOf } from "./involved.ts";
import { besideKnown, contradicts, messageOf, readSaid, type Said } from "./said.ts";

/**
 * Finds out who visitors are by what they said, and writes it (engines.md 5.5 for forms, 7.2 for tracking). Most visitors stay who they are, or begin:
 * these are written in one set. A command that may merge contacts or find another one is done alone, in the order of the commands, since it may make
 * another contact of the ones that the next is about. Commands about the same contact or the same value are done alone, too. Each of them has a
 * transaction of its own: one with several merges would lock contacts in an order of its own.
 */
export async function identifyContacts(
  identifying: Identifying,
  commands: { contactId: number; effect: { value: IdentifyContact } }[],
): Promise<(Outcome<number | Found> | typeof ALONE)[]> {
  const said = await readSaid(
    identifying,
    commands.map(({ contactId, effect }) => ({ contactId, command: effect.value })),
  );
  const [single, ...others] = said;
  if (single && others.length === 0) return [await outcomeOf(identifying, single)];
  const done = await identifyTogether(identifying, independent(identifying, said));
  return said.map((one) => {
    const id = done.get(one);
    return id === undefined ? ALONE : { value: id };
  });
}

async function outcomeOf(identifying: Identifying, said: Said): Promise<Outcome<number | Found>> {
  try {
    return { value: await identifyAlone(identifying, said) };
  } catch (error) {
    // A fault with a cause is a statement's.
    if (!(error instanceof Fault) || error.cause !== undefined) throw error;
    return { fault: error };
  }
}

/** Commands that name a contact and values which no other command of the call names, and that merge nothing. */
function independent({ catalogue }: Identifying, said: Said[]): Said[] {
  const namedBy = ({ contactId, values }: Said) => [
    `contact ${contactId}`,
    ...valueClaims(catalogue.contact, values).map(({ key }) => key),
  ];
  const counts = new Map<string, number>();
  for (const name of said.flatMap(namedBy)) counts.set(name, (counts.get(name) ?? 0) + 1);
  return said.filter(
    (one) =>
      one.contactId > 0 &&
      !one.command.isKiosk &&
      one.command.mergedId === undefined &&
      one.companyValues.size === 0 &&
      namedBy(one).every((name) => counts.get(name) === 1),
  );
}

/** The contacts of the commands that were carried out; none of the others was. */
async function identifyTogether(
  { transaction, ...identifying }: Identifying,
  said: Said[],
): Promise<ReadonlyMap<Said, number>> {
  if (said.length < 2) return new Map();
  try {
    return await transaction.savepoint((own) => {
      const context = { ...identifying.context, database: joined(identifying.context.database, own) };
      return writePlain({ ...identifying, context, transaction: own }, said);
    });
  } catch (error) {
    // Somebody else took one of the values meanwhile.
    if (isOutrun(error)) return new Map();
    throw error;
  }
}

/** A visitor who stays the contact that they were, or begins one. */
interface Plain {
  said: Said;
  /** The contact as it is; none where it begins. */
  row: ContactRow | undefined;
}

async function writePlain(identifying: Identifying, said: Said[]): Promise<ReadonlyMap<Said, number>> {
  const { context, transaction, catalogue, call } = identifying;
  const set = catalogue.contact;
  const plain = await plainOf(identifying, said);
  const beginning = plain.filter(({ row }) => row === undefined);
  await addNewContacts(
    context,
    { transaction, set },
    beginning.map(({ said: { contactId } }) => ({ id: contactId, at: Date.now() })),
  );
  const requests = plain.map(({ said: { contactId, command, values }, row }) => {
    const isKept = row !== undefined && command.keepsKnownValues && !command.isProven;
    const written = isKept ? besideKnown(values, set, { kept: row, now: row }) : values;
    return { id: row ? Number(row.id) : contactId, message: messageOf(command, written) };
  });
  const outcomes = await contactSaver(context).many(requests, call);
  const effective = plain.flatMap(({ said, row }, index) => {
    const outcome = outcomes[index];
    return outcome && "row" in outcome
      ? [{ said, id: Number(outcome.row.id), isNew: row === undefined }]
      : [];
  });
  await noteSaid(identifying, effective);
  return new Map(effective.map(({ said, id }) => [said, id]));
}

/** The commands by which nobody is found, contradicted or merged. */
async function plainOf({ transaction, catalogue }: Identifying, said: Said[]): Promise<Plain[]> {
  const set = catalogue.contact;
  const current = await readContacts(
    transaction.query,
    said.map(({ contactId }) => contactId),
  );
  const currentIds = [...current.values()].map(({ id }) => Number(id));
  const rows = new Map(
    (await wholeContacts(transaction.query, currentIds)).map((row) => [row.id, withCustomValues(row, set)]),
  );
  const holders = await holdersOf(
    transaction,
    said.flatMap(({ values }) => valueClaims(set, values)),
  );
  return said.flatMap((one) => {
    const id = current.get(one.contactId)?.id;
    const row = id ? rows.get(id) : undefined;
    const isShared = currentIds.filter((other) => String(other) === id).length > 1;
    const isOthers = valueClaims(set, one.values).some(({ key }) => (holders.get(key) ?? id) !== id);
    const isMerged = id !== undefined && id !== null && id !== String(one.contactId);
    if (isOthers || isShared || isMerged || (id && !row)) return [];
    return row && contradicts(row, one.values, set.identifiers) ? [] : [{ said: one, row }];
  });
}
