import { create } from "@bufbuild/protobuf";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { Call } from "@tidings/rpc/call";
import { denied, type Fault, invalid, notFound, taken } from "@tidings/rpc/fault";
import { type Database, type Transaction, violatedConstraint } from "@tidings/store/database";
import type { Outbox } from "@tidings/store/outbox";
import { applyChange } from "./apply.ts";
import { type ChangeMode, type ContactChange, readContactChange } from "./body.ts";
import type { ContactWriter } from "./contact-json.ts";
import { contactEvents } from "./events.ts";
import type { FieldCatalogue } from "./field.ts";
import { dateTimeText } from "./field-value.ts";
import {
  claimOf,
  claimsOf,
  identifierClaims,
  insertIdentifiers,
  lockMatching,
  type OwnClaim,
  releaseIdentifiers,
} from "./identifier.ts";
import { mayReach } from "./reach.ts";
import { type ContactRow, EMPTY_CONTACT } from "./row.ts";
import { insertContacts, updateContacts } from "./write.ts";

/** What every operation on contacts works with. */
export interface ContactContext {
  database: Database;
  outbox: Outbox;
  catalogue: FieldCatalogue;
  writer: ContactWriter;
}

/** One contact to be saved. Without an id it is created, or found by a unique identifier and then edited. */
export interface SaveRequest {
  id?: number;
  contact: Contact | undefined;
  /** PUT: clear what is not sent. */
  isReplaced?: boolean;
  /** Create it when the id is missing. */
  allowMissing?: boolean;
}

export type SaveOutcome = { row: ContactRow; created: boolean } | { fault: Fault };

/** A contact while a batch is worked on: as it was, and as it will be. */
interface Draft {
  before: ContactRow | undefined;
  row: ContactRow;
}

const ATTEMPTS = 6;

/**
 * Saves contacts, each on its own: a bad one fails alone. The whole batch is two round trips however large it is: one
 * that locks everything the batch touches, one that writes it together with its events.
 */
export async function saveContacts(
  context: ContactContext,
  requests: SaveRequest[],
  call: Call,
): Promise<SaveOutcome[]> {
  const items = requests.map((request) => readItem(request, context.catalogue));
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await context.database.transaction(call.deadlineMs, (transaction) =>
        saveItems(context, transaction, items, call),
      );
    } catch (error) {
      // Somebody else took an identifier after we looked: look again, the contact is there now.
      const isOutrun = violatedConstraint(error) === "contact_identifiers_pkey";
      if (!isOutrun || attempt === ATTEMPTS) throw error;
    }
  }
}

interface Item {
  request: SaveRequest;
  change: ContactChange;
  fault: Fault | undefined;
}

function readItem(request: SaveRequest, catalogue: FieldCatalogue): Item {
  const mode: ChangeMode = request.id === undefined ? "create" : request.isReplaced ? "replace" : "patch";
  const contact = request.contact ?? create(ContactSchema);
  const { change, violations } = readContactChange(contact, mode, catalogue);
  return { request, change, fault: violations.length > 0 ? invalid(violations) : undefined };
}

async function saveItems(
  context: ContactContext,
  transaction: Transaction,
  items: Item[],
  call: Call,
): Promise<SaveOutcome[]> {
  const batch = await loadBatch(context, transaction, items);
  const now = dateTimeText(Date.now());

  const saveItem = ({ request, change, fault }: Item): SaveOutcome => {
    if (fault) return { fault };
    const claims = identifierClaims(context.catalogue, change.values);
    const id = request.id ?? batch.match(claims);
    const known = id === undefined ? undefined : batch.drafts.get(id);
    if (!known) {
      if (request.id !== undefined && !request.allowMissing) return { fault: notFound() };
      if (call.reach(Verb.CREATE) === "none") return { fault: denied() };
    } else {
      if (!mayReach(call, Verb.VIEW, known.row))
        return { fault: request.id === undefined ? denied() : notFound() };
      if (!mayReach(call, Verb.EDIT, known.row)) return { fault: denied() };
    }
    const draft = known ?? batch.newDraft();
    const row = applyChange(
      { row: draft.row, isNew: !known, change, now, actor: call.actor, batch },
      context.catalogue,
    );
    const rival = batch.rivalOf(row);
    if (rival) return { fault: taken([{ field: rival, message: "This field must be unique." }]) };
    batch.keep(draft, row);
    return { row, created: !known };
  };

  const outcomes = items.map(saveItem);
  const changes = [...batch.drafts.values()].filter(({ before, row }) => row !== before);
  const added = changes.filter(({ before }) => !before).map(({ row }) => row);
  const edits = changes.filter(isEdit);
  const claims = (row: ContactRow) => claimsOf(context.catalogue, row);
  releaseIdentifiers(
    transaction,
    edits.flatMap(({ before, row }) => missing(claims(before), claims(row))),
  );
  insertContacts(transaction, added, added.flatMap(claims));
  updateContacts(transaction, edits);
  insertIdentifiers(
    transaction,
    edits.flatMap(({ before, row }) => missing(claims(row), claims(before))),
  );
  context.outbox.append(
    transaction,
    changes.flatMap((change) => contactEvents(context, change)),
  );
  return outcomes;
}

function isEdit(draft: Draft): draft is { before: ContactRow; row: ContactRow } {
  return draft.before !== undefined;
}

/** The claims that the others lack. */
function missing(claims: OwnClaim[], others: OwnClaim[]): OwnClaim[] {
  return claims.filter(({ key }) => !others.some((other) => other.key === key));
}

/** Locks and reads all that the items touch, in one round trip. */
async function loadBatch(context: ContactContext, transaction: Transaction, items: Item[]) {
  const usable = items.filter(({ fault }) => !fault);
  const claims = usable.flatMap(({ change }) => identifierClaims(context.catalogue, change.values));
  const ids = usable.flatMap(({ request }) => request.id ?? []);
  const [tags, addresses, rows, newIds, entryIds] = await Promise.all([
    namedRows(
      transaction,
      TAG_STATEMENTS,
      usable.flatMap(({ change }) => change.addTags),
    ),
    namedRows(
      transaction,
      ADDRESS_STATEMENTS,
      usable.flatMap(({ change }) => change.ipAddress ?? []),
    ),
    lockMatching(transaction, ids, claims),
    sequence(transaction, "contacts_id_seq", usable.filter(({ request }) => mayCreate(request)).length),
    sequence(
      transaction,
      "do_not_contact_id",
      usable.reduce((sum, { change }) => sum + change.doNotContact.length, 0),
    ),
  ]);

  const drafts = new Map<number, Draft>(rows.map((row) => [Number(row.id), { before: row, row }]));
  const ownerOf = new Map(
    rows.flatMap((row) => claimsOf(context.catalogue, row)).map(({ key, contactId }) => [key, contactId]),
  );

  return {
    drafts,
    tag: (name: string) => tags.get(name),
    address: (ip: string) => addresses.get(ip),
    nextEntryId: () => next(entryIds),
    /** The newest contact that has one of the identifiers. */
    match(wanted: { key: string }[]): number | undefined {
      const found = wanted.flatMap(({ key }) => ownerOf.get(key) ?? []);
      const age = (id: number) => drafts.get(id)?.row.date_added ?? "";
      return found.sort((a, b) => (age(a) < age(b) ? 1 : age(a) > age(b) ? -1 : b - a))[0];
    },
    newDraft(): Draft {
      return { before: undefined, row: { ...EMPTY_CONTACT, id: String(next(newIds)) } };
    },
    /** The field whose value another contact has. */
    rivalOf(row: ContactRow): string | undefined {
      return context.catalogue.identifiers.find((field) => {
        const claim = claimOf(field, row[field.alias]);
        const owner = claim && ownerOf.get(claim.key);
        return owner !== undefined && owner !== Number(row.id);
      })?.alias;
    },
    /** Makes a new state known to the items that follow. */
    keep(draft: Draft, row: ContactRow): void {
      for (const { key, contactId } of claimsOf(context.catalogue, draft.row)) {
        if (ownerOf.get(key) === contactId) ownerOf.delete(key);
      }
      for (const { key, contactId } of claimsOf(context.catalogue, row)) ownerOf.set(key, contactId);
      draft.row = row;
      drafts.set(Number(row.id), draft);
    },
  };
}

function mayCreate(request: SaveRequest): boolean {
  return request.id === undefined || request.allowMissing === true;
}

interface NamedStatements {
  insert: { name: string; text: string };
  select: { name: string; text: string };
}

const TAG_STATEMENTS: NamedStatements = {
  insert: {
    name: "tags_add",
    text: "insert into tags (tag) select name from unnest($1::text[]) as n(name) order by name on conflict do nothing",
  },
  select: {
    name: "tags_named",
    text: "select id, tag as name, description from tags where tag = any($1::text[])",
  },
};

const ADDRESS_STATEMENTS: NamedStatements = {
  insert: {
    name: "ip_addresses_add",
    text: `insert into ip_addresses (ip_address) select name from unnest($1::text[]) as n(name) order by name
      on conflict do nothing`,
  },
  select: {
    name: "ip_addresses_named",
    text: "select id, ip_address as name from ip_addresses where ip_address = any($1::text[])",
  },
};

/** Rows by name; those that are missing are made first. */
async function namedRows(transaction: Transaction, statements: NamedStatements, names: string[]) {
  if (names.length === 0) return new Map<string, { id: number; description: string | null }>();
  const distinct = [...new Set(names)];
  transaction.execute(statements.insert, [distinct]);
  const rows = await transaction.query(statements.select, [distinct]);
  return new Map(
    rows.map(
      (row) => [row.name ?? "", { id: Number(row.id), description: row.description ?? null }] as const,
    ),
  );
}

async function sequence(transaction: Transaction, name: string, count: number): Promise<number[]> {
  if (count === 0) return [];
  // The sub-select keeps the plan: see identifier.ts.
  const text = `select nextval('${name}') as id from generate_series(1, (select $1::integer))`;
  const rows = await transaction.query({ name: `${name}_next`, text }, [count]);
  return rows.map(({ id }) => Number(id)).reverse();
}

function next(ids: number[]): number {
  const id = ids.pop();
  if (id === undefined) throw new Error("more rows were made than ids were taken");
  return id;
}
