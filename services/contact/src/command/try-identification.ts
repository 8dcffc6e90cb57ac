import { randomInt } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import {
  type IdentifyContact,
  IdentifyContactSchema,
  type TryIdentificationRequest,
} from "@tidings/proto/tidings/contact/v1/command";
import { isObject, jsonBytes, parseJson } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { folded } from "@tidings/runtime/folded";
import type { ContactContext } from "../contact/save.ts";
import { wholeContacts } from "../contact/whole.ts";
import { type FieldSet, underCatalogue } from "../field/catalogue.ts";
import { setFieldValues, withCustomValues } from "../field/values.ts";
import { type ContactRow, EMPTY_CONTACT } from "../rows/contact.ts";
import {
  contradicts,
  holderOf,
  type Identifying,
  identifyAlone,
  readContact,
  usableValues,
} from "./identify.ts";

/** The contact that a visitor would be, and the new values of its fields by alias. */
interface Tried {
  /** 0 for a contact that would be made. */
  contactId: number;
  isNew: boolean;
  changes: Record<string, string>;
}

/** Ids far beyond those that are given out: contacts with them are never committed. */
const UNUSED_IDS = [2_000_000_000, 2_147_000_000] as const;
const UNDONE = new Error("this was tried only");

/**
 * Finds out what an identification would do. It is carried out and taken back, so that the answer is what the command itself does. A caller who
 * sees only their own contacts gets the same answer for a contact of somebody else as for one that is not there.
 */
export function tryIdentification(
  context: ContactContext,
  { contactId, command = create(IdentifyContactSchema), ownerId }: TryIdentificationRequest,
  call: Call,
): Promise<Tried> {
  return underCatalogue(context.catalogues, (catalogue) =>
    context.database.transaction(call.deadlineMs, async (transaction) => {
      const identifying = { context, catalogue, transaction, call };
      if (ownerId === undefined) return carryOutAndUndo(identifying, contactId, command);
      const values = usableValues(command.values, catalogue.contact, command.isPublic);
      const tracked = command.isKiosk ? undefined : await readContact(identifying, contactId);
      const holder = await holderOf(identifying, { values }, tracked);
      return holder?.owner_id === String(ownerId)
        ? carryOutAndUndo(identifying, contactId, command)
        : withoutHolder(catalogue.contact, values, { tracked, command });
    }),
  );
}

async function carryOutAndUndo(
  identifying: Identifying,
  contactId: number,
  command: IdentifyContact,
): Promise<Tried> {
  const { transaction, catalogue } = identifying;
  const set = catalogue.contact;
  const { newCompany, values, companyValues } = await withoutNewCompany(identifying, command);
  const tried = { ...command, values, companyValues, ip: "", newContactId: randomInt(...UNUSED_IDS) };
  let after: ContactRow | undefined;
  const undone = transaction.savepoint(async (own) => {
    const within = { ...identifying, transaction: own };
    const outcome = await identifyAlone(within, contactId, tried);
    [after] = await wholeContacts(own.query, [typeof outcome === "object" ? outcome.found : outcome]);
    throw UNDONE;
  });
  await undone.catch((error) => {
    if (error !== UNDONE) throw error;
  });
  if (!after) throw new Error("a visitor is no contact");
  const [before] = await wholeContacts(transaction.query, [Number(after.id)]);
  const changes = changesOf(before && withCustomValues(before, set), withCustomValues(after, set), set);
  return {
    contactId: before ? Number(after.id) : 0,
    isNew: !before,
    changes: { ...changes, ...(newCompany !== undefined && { company: newCompany }) },
  };
}

/** The outcome where no known contact has the unique values. */
function withoutHolder(
  set: FieldSet,
  values: ReturnType<typeof usableValues>,
  { tracked, command }: { tracked: ContactRow | undefined; command: IdentifyContact },
): Tried {
  const kept = tracked && !contradicts(tracked, values, set.identifiers) ? tracked : undefined;
  const after = { ...(kept ?? EMPTY_CONTACT) };
  const isKept = command.keepsKnownValues && !command.isProven;
  const written = [...values].filter(([alias]) => !(isKept && kept?.[alias]));
  setFieldValues(after, new Map(written), set, !kept);
  return { contactId: Number(kept?.id ?? 0), isNew: !kept, changes: changesOf(kept, after, set) };
}

function changesOf(
  before: ContactRow | undefined,
  after: ContactRow,
  { fields }: FieldSet,
): Record<string, string> {
  const changed = fields.filter(({ alias }) => after[alias] && after[alias] !== before?.[alias]);
  return Object.fromEntries(changed.map(({ alias }) => [alias, after[alias] ?? ""]));
}

const companyStatement = prepared(
  "companies_named_one",
  "select id from companies where name_key = $1 limit 1",
);

/** A company that is not there would use up an id: its name is left out, and is a change in itself. Other values of the company are no contact's. */
async function withoutNewCompany({ transaction }: Identifying, command: IdentifyContact) {
  const values = objectIn(command.values);
  const { companyname } = objectIn(command.companyValues);
  const name = companyname || values.company;
  const json = (members: object) => jsonBytes(members);
  if (typeof name !== "string" || name === "")
    return { newCompany: undefined, values: command.values, companyValues: json({}) };
  const [known] = await transaction.query(companyStatement, [folded(name)]);
  const { company: _company, ...others } = values;
  return known
    ? {
        newCompany: undefined,
        values: command.values,
        companyValues: json(companyname ? { companyname } : {}),
      }
    : { newCompany: name, values: json(others), companyValues: json({}) };
}

function objectIn(json: Uint8Array): Record<string, unknown> {
  const sent: unknown = json.length > 0 ? parseJson(json) : {};
  return isObject(sent) ? sent : {};
}
