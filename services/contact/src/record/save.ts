import { type Row, type Transaction, violatedConstraint } from "@tidings/database/database";
import type { DomainEvent } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { awaitRows } from "@tidings/resource/await-rows";
import type { Call } from "@tidings/rpc/call";
import { denied, Fault, invalid, notFound, taken, type Violation } from "@tidings/rpc/fault";
import {
  assertCurrent,
  type FieldCatalogue,
  type FieldContext,
  type FieldSet,
  underCatalogue,
} from "../field/catalogue.ts";
import { dateTimeText } from "../field/value.ts";
import { type ChangeMode, type FieldValues, unknownFields, withCustomValues } from "../field/values.ts";
import type { RecordTable } from "../rows/table.ts";
import { claimOf, claimsOf, missingClaims, valueClaims } from "./identifier.ts";
import { mayReach, type OwnerColumn } from "./reach.ts";
import { sharedWrites } from "./shared-writes.ts";

/** One record to be saved. Without an id it is created, or found by a unique identifier and then edited. */
export interface SaveRequest<M> {
  id?: number;
  message: M | undefined;
  /** PUT: clear what is not sent. */
  isReplaced?: boolean;
  /** Create it when the id is missing. */
  allowMissing?: boolean;
  /** Create it, whoever has its identifiers. */
  isNew?: boolean;
}

export type SaveOutcome = { row: Row; created: boolean; ignored: string[] } | { fault: Fault };

/** The change that a body asks for, as far as it concerns fields. */
export interface RecordChange {
  stage?: number | null | undefined;
  values: FieldValues;
  /** The body's members by field alias, as they were sent. */
  sent: Record<string, unknown>;
  /** Null is nobody. */
  owner?: number | null | undefined;
}

/** How a record is to become. */
export interface Application<C, L> {
  row: Row;
  isNew: boolean;
  mode: ChangeMode;
  change: C;
  set: FieldSet;
  /** In the text form of a timestamptz. */
  now: string;
  call: Call;
  lookups: L;
}

/** A record that is written: as it was (undefined: not there) and as it will be. */
export interface RowChange {
  before: Row | undefined;
  row: Row;
}

/** The parts that differ between contacts and companies. `L` holds the look-ups of a batch for all its items. */
export interface RecordKind<M, C extends RecordChange, L> {
  table: RecordTable;
  ownerColumn: OwnerColumn;
  empty: Row;
  fieldsOf(catalogue: FieldCatalogue): FieldSet;
  read(message: M | undefined, mode: ChangeMode, set: FieldSet): { change: C; violations: Violation[] };
  lookUp(transaction: Transaction, changes: C[], call: Call): Promise<L>;
  /** The new state; the very same row when nothing changes. */
  apply(application: Application<C, L>): Row | Fault;
  /** Writes related rows, in the same transaction. */
  writeRest(transaction: Transaction, changes: RowChange[], lookups: L, catalogue: FieldCatalogue): void;
  /** The event of a save, with all that it changed. */
  event(change: RowChange, set: FieldSet): DomainEvent;
}

const ATTEMPTS = 6;

/** Saves records of one kind. */
export interface RecordSaver<M> {
  /**
   * Saves records, each on its own: a bad one fails alone. The whole batch is two round trips however large it is: one
   * that locks everything the batch touches, one that writes it together with its events.
   */
  many(requests: SaveRequest<M>[], call: Call): Promise<SaveOutcome[]>;
  /** Saves one record: with others that the same caller sends meanwhile, as far as they have nothing to do with each other. */
  one(request: SaveRequest<M>, call: Call): Promise<SaveOutcome>;
}

export function recordSaver<M, C extends RecordChange, L>(
  context: FieldContext,
  kind: RecordKind<M, C, L>,
): RecordSaver<M> {
  const read = (requests: SaveRequest<M>[], current: FieldCatalogue, call: Call) =>
    readItems(context, kind, requests, current, call);
  const write = ({ catalogue, items, call }: ReadItems<M, C>, isShared: boolean) =>
    writeItems({ context, kind, catalogue, set: kind.fieldsOf(catalogue), call, isShared }, items);
  const share = sharedWrites(write);
  return {
    many: (requests, call) =>
      underCatalogue(context.catalogues, async (current) =>
        settled(await write(await read(requests, current, call), false)),
      ),
    one: (request, call) =>
      underCatalogue(context.catalogues, async (current) => {
        const own = await read([request], current, call);
        const [outcome] = settled([(await share(own)) ?? (await write(own, false))[0]]);
        if (!outcome) throw new Error("one record has one outcome");
        return outcome;
      }),
  };
}

/** Requests that were read under a catalogue. */
export interface ReadItems<M, C> {
  catalogue: FieldCatalogue;
  items: Item<M, C>[];
  call: Call;
}

/** Nothing is said of what must be saved alone; there is no such thing in a batch of one caller's own. */
function settled(outcomes: (SaveOutcome | undefined)[]): SaveOutcome[] {
  return outcomes.flatMap((outcome) => outcome ?? []);
}

/** How long a write waits for a row that somebody else has, while others that do not want that row wait with it. */
const SHARED_LOCK_WAIT_MS = 100;

async function writeItems<M, C extends RecordChange, L>(
  batch: Omit<Batch<M, C, L>, "transaction">,
  items: Item<M, C>[],
): Promise<(SaveOutcome | undefined)[]> {
  const { context, call, isShared } = batch;
  const options = isShared && items.length > 1 ? { lockWaitMs: SHARED_LOCK_WAIT_MS } : {};
  for (let attempt = 1; ; attempt += 1) {
    try {
      const work = (transaction: Transaction) => saveItems({ ...batch, transaction }, items);
      return await context.database.transaction(call.deadlineMs, work, options);
    } catch (error) {
      // Somebody else took an identifier after we looked: look again, the record is there now.
      const isOutrun = violatedConstraint(error)?.endsWith("_identifiers_pkey");
      if (!isOutrun || attempt === ATTEMPTS) throw error;
    }
  }
}

export interface Item<M, C> {
  request: SaveRequest<M>;
  mode: ChangeMode;
  change: C;
  /** Members of the body that name no field. */
  unknown: string[];
  fault: Fault | undefined;
}

/** Reads bodies, and waits for the neighbours' things that they name and that may be on their way. */
async function readItems<M, C extends RecordChange, L>(
  context: FieldContext,
  kind: RecordKind<M, C, L>,
  requests: SaveRequest<M>[],
  current: FieldCatalogue,
  call: Call,
): Promise<ReadItems<M, C>> {
  const { catalogue, items } = await readBodies(context, kind, requests, current);
  const owners = items.flatMap(({ change }) => change.owner ?? []);
  const stages = items.flatMap(({ change }) => change.stage ?? []);
  await awaitRows(context.database, "owners", owners, call.deadlineMs);
  await awaitRows(context.database, "stages", stages, call.deadlineMs);
  return { catalogue, items, call };
}

/** A name that is no known field may be one that another replica added a moment ago. */
async function readBodies<M, C extends RecordChange, L>(
  { catalogues }: FieldContext,
  kind: RecordKind<M, C, L>,
  requests: SaveRequest<M>[],
  current: FieldCatalogue,
) {
  const read = (catalogue: FieldCatalogue) => {
    const set = kind.fieldsOf(catalogue);
    return { catalogue, items: requests.map((request) => readItem(kind, request, set)) };
  };
  const result = read(current);
  if (result.items.every(({ unknown }) => unknown.length === 0)) return result;
  const latest = await catalogues.latest();
  return latest === current ? result : read(latest);
}

function readItem<M, C extends RecordChange, L>(
  kind: RecordKind<M, C, L>,
  request: SaveRequest<M>,
  set: FieldSet,
): Item<M, C> {
  const mode: ChangeMode = request.id === undefined ? "create" : request.isReplaced ? "replace" : "patch";
  const { change, violations } = kind.read(request.message, mode, set);
  const unknown = unknownFields(change.sent, set);
  return { request, mode, change, unknown, fault: violations.length > 0 ? invalid(violations) : undefined };
}

interface Batch<M, C extends RecordChange, L> {
  context: FieldContext;
  kind: RecordKind<M, C, L>;
  catalogue: FieldCatalogue;
  set: FieldSet;
  transaction: Transaction;
  call: Call;
  /** Are these the items of several calls? */
  isShared: boolean;
}

/** Each shared item changes a record of its own; undefined for an item that wants a record which another one changed. */
async function saveItems<M, C extends RecordChange, L>(
  batch: Batch<M, C, L>,
  items: Item<M, C>[],
): Promise<(SaveOutcome | undefined)[]> {
  const { kind, catalogue, set, transaction, call, context, isShared } = batch;
  const { drafts, lookups } = await loadBatch(batch, items);
  const now = dateTimeText(Date.now());

  const saveItem = ({ request, mode, change, unknown, fault }: Item<M, C>): SaveOutcome | undefined => {
    if (fault) return { fault };
    const known = drafts.find(request, valueClaims(set, change.values));
    if (isShared && known && known.row !== known.before) return undefined;
    const refusal = refusalOf(request, known?.row, kind.ownerColumn, call);
    if (refusal) return { fault: refusal };
    const draft = known ?? drafts.create();
    const row = kind.apply({ row: draft.row, isNew: !known, mode, change, set, now, call, lookups });
    if (row instanceof Fault) return { fault: row };
    const rival = drafts.rivalOf(row);
    if (rival) return { fault: taken([{ field: rival, message: "This field must be unique." }]) };
    drafts.keep(draft, row);
    return { row, created: !known, ignored: unknown };
  };

  const outcomes = items.map(saveItem);
  const changes = drafts.changes();
  writeChanges(transaction, kind.table, set, changes);
  kind.writeRest(transaction, changes, lookups, catalogue);
  context.outbox.append(
    transaction,
    changes.map((change) => kind.event(change, set)),
  );
  return outcomes;
}

/** Why this caller may not save the record; `row` is undefined when there is none yet. */
function refusalOf(
  request: SaveRequest<unknown>,
  row: Row | undefined,
  owner: OwnerColumn,
  call: Call,
): Fault | undefined {
  if (!row) {
    if (request.id !== undefined && !request.allowMissing) return notFound();
    return call.reach(Verb.CREATE) === "none" ? denied() : undefined;
  }
  if (!mayReach(call, Verb.VIEW, row, owner)) return row.id === String(request.id) ? notFound() : denied();
  return mayReach(call, Verb.EDIT, row, owner) ? undefined : denied();
}

/** Writes records and what they claim: values given up first, so that another record of the batch can take them. */
export function writeChanges(
  transaction: Transaction,
  table: RecordTable,
  set: FieldSet,
  changes: RowChange[],
): void {
  const added = changes.filter(({ before }) => !before).map(({ row }) => row);
  const edits = changes.flatMap(({ before, row }) => (before ? [{ before, row }] : []));
  const claims = (row: Row) => claimsOf(set, row);
  table.release(
    transaction,
    edits.flatMap(({ before, row }) => missingClaims(claims(before), claims(row))),
  );
  table.insert(transaction, added, added.flatMap(claims));
  table.update(transaction, edits);
  table.claim(
    transaction,
    edits.flatMap(({ before, row }) => missingClaims(claims(row), claims(before))),
  );
}

/** Locks and reads all that the items touch, in one round trip. */
async function loadBatch<M, C extends RecordChange, L>(
  { kind, catalogue, set, transaction, call }: Batch<M, C, L>,
  items: Item<M, C>[],
) {
  const usable = items.filter(({ fault }) => !fault);
  const ids = usable.flatMap(({ request }) => request.id ?? []);
  const claims = usable.flatMap(({ change }) => valueClaims(set, change.values));
  const creatable = usable.filter(({ request }) => request.id === undefined || request.allowMissing);
  const changes = usable.map(({ change }) => change);
  const [lookups, rows, newIds] = await Promise.all([
    kind.lookUp(transaction, changes, call),
    kind.table.lock(transaction, ids, claims),
    kind.table.nextIds(transaction, creatable.length),
  ]);
  assertCurrent(catalogue, [...rows, ...newIds]);
  const complete = rows.map((row) => withCustomValues(row, set));
  return { lookups, drafts: draftsOf(complete, newIds, set, kind.empty) };
}

/** The records of a batch while it is worked on: each as it was and as the items so far have made it. */
function draftsOf(rows: Row[], newIds: Row[], set: FieldSet, empty: Row) {
  const drafts = new Map<number, RowChange>(rows.map((row) => [Number(row.id), { before: row, row }]));
  const ownerOf = new Map(
    rows.flatMap((row) => claimsOf(set, row)).map(({ key, recordId }) => [key, recordId]),
  );
  const unused = newIds.values();

  /** The newest record that has one of the identifiers. */
  const match = (claims: { key: string }[]): number | undefined => {
    const found = claims.flatMap(({ key }) => ownerOf.get(key) ?? []);
    const age = (id: number) => drafts.get(id)?.row.date_added ?? "";
    return found.sort((a, b) => (age(a) < age(b) ? 1 : age(a) > age(b) ? -1 : b - a))[0];
  };

  return {
    /** By its id; without one, or where the id is nobody's and may be missing, by what it claims. */
    find(
      { id, allowMissing, isNew }: SaveRequest<unknown>,
      claims: { key: string }[],
    ): RowChange | undefined {
      if (isNew) return undefined;
      const byId = id === undefined ? undefined : drafts.get(id);
      if (byId || (id !== undefined && !allowMissing)) return byId;
      const found = match(claims);
      return found === undefined ? undefined : drafts.get(found);
    },
    create(): RowChange {
      const { value } = unused.next();
      if (value === undefined) throw new Error("more records were made than ids were taken");
      return { before: undefined, row: { ...empty, id: value.id ?? "" } };
    },
    /** The field whose value another record has. */
    rivalOf(row: Row): string | undefined {
      return set.identifiers.find((field) => {
        const claim = claimOf(field, row[field.alias]);
        const owner = claim && ownerOf.get(claim.key);
        return owner !== undefined && owner !== Number(row.id);
      })?.alias;
    },
    /** Makes a new state known to the items that follow. */
    keep(draft: RowChange, row: Row): void {
      for (const { key, recordId } of claimsOf(set, draft.row)) {
        if (ownerOf.get(key) === recordId) ownerOf.delete(key);
      }
      for (const { key, recordId } of claimsOf(set, row)) ownerOf.set(key, recordId);
      draft.row = row;
      drafts.set(Number(row.id), draft);
    },
    changes: () => [...drafts.values()].filter(({ before, row }) => row !== before),
  };
}
