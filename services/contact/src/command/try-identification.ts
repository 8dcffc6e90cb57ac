import { randomInt } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
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
import { withCustomValues } from "../field/values.ts";
import { valueClaims } from "../record/identifier.ts";
import { contactTable } from "../rows/contact.ts";
import { type Identifying, identifyAlone } from "./identify.ts";
import { readSaid, usableValues } from "./said.ts";

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
 * Finds out what an identification would do. It is carried out and taken back, so that the answer is what the command itself does. For a caller who
 * sees only their own contacts, those of others are not there meanwhile.
 */
export function tryIdentification(
  context: ContactContext,
  { contactId, command = create(IdentifyContactSchema), ownerId }: TryIdentificationRequest,
  call: Call,
): Promise<Tried> {
  return underCatalogue(context.catalogues, (catalogue) =>
    context.database.transaction(call.deadlineMs, async (transaction) => {
      const set = catalogue.contact;
      const { newCompany, ...values } = await withoutNewCompany(transaction, command, ownerId);
      const tried = { ...command, ...values, ip: "", newContactId: randomInt(...UNUSED_IDS) };
      const after = await undone(transaction, async (own) => {
        const within = { context, catalogue, transaction: own, call };
        if (ownerId !== undefined) await hideContactsOfOthers(within, tried, ownerId);
        const [said] = await readSaid(within, [{ contactId, command: tried }]);
        if (!said) return undefined;
        const outcome = await identifyAlone(within, said);
        const id = typeof outcome === "object" ? outcome.found : outcome;
        return (await wholeContacts(own.query, [id]))[0];
      });
      if (!after) throw new Error("a visitor is no contact");
      const [before] = await wholeContacts(transaction.query, [Number(after.id)]);
      const changes = changesOf(before && withCustomValues(before, set), withCustomValues(after, set), set);
      return {
        contactId: before ? Number(after.id) : 0,
        isNew: !before,
        changes: { ...changes, ...(newCompany !== undefined && { company: newCompany }) },
      };
    }),
  );
}

/** Does work in a transaction and takes it back. Answers its result. */
async function undone<T>(
  transaction: Transaction,
  work: (own: Transaction) => Promise<T>,
): Promise<T | undefined> {
  let result: T | undefined;
  const tried = transaction.savepoint(async (own) => {
    result = await work(own);
    throw UNDONE;
  });
  await tried.catch((error) => {
    if (error !== UNDONE) throw error;
  });
  return result;
}

const hideStatement = prepared(
  "contact_identifiers_hide",
  "delete from contact_identifiers where contact_id = any ((select $1::integer[])::integer[])",
);

/** Contacts are found by their identifiers: without these they are not there. */
async function hideContactsOfOthers(
  { transaction, catalogue }: Identifying,
  { values, isPublic }: IdentifyContact,
  ownerId: number,
): Promise<void> {
  const set = catalogue.contact;
  const claims = valueClaims(set, usableValues(values, set, isPublic));
  const holders = await contactTable.lock(transaction, [], claims);
  const hidden = holders.filter(({ owner_id }) => owner_id !== String(ownerId));
  transaction.execute(hideStatement, [hidden.map(({ id }) => Number(id))]);
}

/** It moves with every visit. */
const LAST_ACTIVE = "last_active";
const NOBODY: Row = { points: "0" };

function changesOf(before: Row | undefined, after: Row, { fields }: FieldSet): Record<string, string> {
  const known = before ?? NOBODY;
  const changed = fields.filter(
    ({ alias }) => alias !== LAST_ACTIVE && after[alias] && after[alias] !== known[alias],
  );
  return Object.fromEntries(changed.map(({ alias }) => [alias, after[alias] ?? ""]));
}

const companyStatement = prepared(
  "companies_named_one",
  "select id from companies where name_key = $1 limit 1",
);

/**
 * The values without a company that is not there, which would use up an id: its name is a change in itself. A caller who does not see all contacts
 * does not see whether it is there. Other values of a company are no contact's.
 */
async function withoutNewCompany(
  transaction: Transaction,
  command: IdentifyContact,
  ownerId: number | undefined,
) {
  const { company, ...others } = objectIn(command.values);
  const { companyname } = objectIn(command.companyValues);
  const name = companyname || company;
  if (typeof name !== "string" || name === "")
    return { newCompany: undefined, values: command.values, companyValues: jsonBytes({}) };
  const [known] = ownerId === undefined ? await transaction.query(companyStatement, [folded(name)]) : [];
  return known
    ? {
        newCompany: undefined,
        values: command.values,
        companyValues: jsonBytes(companyname ? { companyname } : {}),
      }
    : { newCompany: name, values: jsonBytes(others), companyValues: jsonBytes({}) };
}

function objectIn(json: Uint8Array): Record<string, unknown> {
  const sent: unknown = json.length > 0 ? parseJson(json) : {};
  return isObject(sent) ? sent : {};
}
