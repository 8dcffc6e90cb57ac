import { isDeepStrictEqual } from "node:util";
import { create, type DescMessage, type Message } from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { type Database, joined, type Transaction, violatedConstraint } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { encodeEvent, type Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { ItemStatus } from "@tidings/proto/tidings/type/v1/batch";
import { type ListQuery, ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { badRequest, denied, Fault, invalid, notFound, toFault, type Violation } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import { sql } from "kysely";
import { aliasMaker } from "./alias.ts";
import { type Column, columnsOf, fillFromRow, toRecord } from "./columns.ts";
import { changedDraft, newDraft, newItems, type Sent, stamp, stampCreated, stampModified } from "./draft.ts";
import { listPage } from "./list.ts";
import { type FindVisible, findNamed, type Need, unmetNeeds, type Visible } from "./needs.ts";
import { type OwnershipOptions, ownershipOf } from "./ownership.ts";
import {
  awaitReferred,
  findReferred,
  type ReferenceKind,
  type Referred,
  referenceColumns,
  settleReferences,
  showReferences,
} from "./reference.ts";
import { placeOf, type Resource } from "./resource.ts";
import { type ListOptions, resourceList } from "./resource-list.ts";
import { type Deletion, rowStatements } from "./row-statements.ts";
import { rulesOf } from "./rules.ts";

/** The dependencies of a service's repositories. */
export interface ResourceContext {
  database: Database;
  outbox: Outbox;
  /** The kinds of things its resources refer to, by name. */
  references?: Record<string, ReferenceKind>;
  /** Finds entities that properties name. Needed by repositories with the option `needs`. */
  findVisible?: FindVisible;
}

export interface RepositoryOptions<T extends Resource, L = undefined>
  extends ListOptions,
    Omit<OwnershipOptions, "table"> {
  /** Its permissions have no publish actions: who may write a row publishes it. Otherwise that takes their right. */
  freelyPublished?: boolean;
  /** Whether deleted rows are removed or kept; removed when absent. */
  deletion?: Deletion;
  /** Work that a write awaits before its transaction. */
  before?(messages: (T | undefined)[], call: Call): Promise<unknown>;
  /** Reads data for `prepare`, once for all items of a write, at the start of its transaction. `ids` are the rows to be edited. */
  load?(transaction: Transaction, call: Call, messages: (T | undefined)[], ids: number[]): Promise<L>;
  /** Brings a draft into the form in which it is kept, in place, before its values are judged; what is too long is not. */
  clean?(draft: T, before: T | undefined): void;
  /**
   * Called with the complete new state once it keeps the rules of its message: may fill defaults in place, returns what is
   * wrong with it, or why it cannot be although nothing is wrong. `sent` is what it was made of.
   */
  prepare?(
    draft: T,
    context: { before: T | undefined; call: Call; loaded: L; sent: Sent<T> },
  ): Violation[] | Fault;
  /** Entities that the message names and actions that it causes. A message as it was sent may be partial, without types. */
  needs?(message: T): Need[];
  /** Called in the transaction of a write with what it changed: what follows from it is written with it. */
  changed?(transaction: Transaction, changes: Changed<T>[]): Promise<void> | void;
  /** Completes what a caller is shown, in place. After a write this is a part of its transaction, which `database` joins. */
  show?(items: T[], call: Call, database: Database): Promise<void>;
}

/** A row as it was (undefined: not there) and as it is (undefined: gone). */
export interface Changed<T> {
  before: T | undefined;
  after: T | undefined;
}

export interface Saved<T> {
  item: T;
  created: boolean;
}

export interface Update<T> {
  id: number;
  message: T | undefined;
  updateMask: FieldMask | undefined;
  allowMissing: boolean;
  removed?: Sent["removed"];
}

export interface BatchResult<T> {
  items: T[];
  statuses: ItemStatus[];
}

export interface Repository<T extends Resource> {
  get(id: number, call: Call): Promise<T>;
  list(query: ListQuery | undefined, call: Call): Promise<{ items: T[]; totalSize: number; ids: number[] }>;
  create(message: T | undefined, call: Call): Promise<Saved<T>>;
  update(update: Update<T>, call: Call): Promise<Saved<T>>;
  delete(id: number, call: Call): Promise<T>;
  batchCreate(messages: (T | undefined)[], call: Call): Promise<BatchResult<T>>;
  batchUpdate(updates: Update<T>[], call: Call): Promise<BatchResult<T>>;
  batchDelete(ids: number[], call: Call): Promise<BatchResult<T>>;
}

interface Stored<T> {
  message: T;
  version: number;
}

/** A row that was read to be changed, and whose it is. */
interface Locked<T> extends Stored<T> {
  isOwn: boolean;
  isShared: boolean;
}

/** The decision for one item, made before anything is written. */
type Outcome<T> = { fault: Fault } | Change<T>;

/** One write: who asks for it and what was read for it. */
interface Writing<L> {
  call: Call;
  loaded: L;
  referred: Referred;
  visible: Visible;
}

interface Change<T> {
  saved: Stored<T>;
  before: Stored<T> | undefined;
  isChanged: boolean;
}

/**
 * The standard methods over one table, all of them set-based: a single write is a batch of one. Every change leaves an
 * event in the outbox of the same transaction. Rows the caller may not see do not exist for it (NOT_FOUND); rows it may
 * see but not change are PERMISSION_DENIED.
 */
export function repository<T extends Resource, L = undefined>(
  { database, outbox, references = {}, findVisible = findNone }: ResourceContext,
  // Typed by message and not by schema: that keeps handler tables free of casts.
  schema: DescMessage & { readonly field: object },
  options: RepositoryOptions<T, L> = {},
): Repository<T> {
  const { table, events: subject } = placeOf(schema);
  const columns = columnsOf(schema);
  const rules = rulesOf(schema);
  const referring = referenceColumns(columns, references);
  const makeAliases = aliasMaker(table, schema, columns);
  const ownership = ownershipOf({ ...options, table }, columns);
  const { deletion = "gone" } = options;
  const statements = rowStatements(table, columns, ownership, deletion);
  const source = resourceList(schema, columns, options);
  const visible = (call: Call) =>
    deletion === "kept" ? sql`${ownership.visible(call)} and date_deleted is null` : ownership.visible(call);

  const toStored = (row: Row): Stored<T> => ({
    message: fillFromRow(create(schema) as T, columns, row),
    version: Number(row.version),
  });

  const toLocked = (row: Row): Locked<T> => ({
    ...toStored(row),
    isOwn: row.is_own === "t",
    isShared: row.is_shared === "t",
  });

  const mayPublish = (call: Call, { isOwn }: { isOwn: boolean }): boolean =>
    options.freelyPublished === true || mayReach(call, Verb.PUBLISH, isOwn);

  const lock = async (
    transaction: Transaction,
    ids: number[],
    call: Call,
  ): Promise<Map<number, Locked<T>>> => {
    if (ids.length === 0) return new Map();
    const rows = await transaction.query(statements.lock, [ids, call.actor.id]);
    return new Map(rows.map((row) => [Number(row.id), toLocked(row)]));
  };

  const changeable = (locked: Locked<T> | undefined, verb: Verb, call: Call): Locked<T> | Fault => {
    if (!locked || !isVisible(call, locked)) return notFound();
    return mayReach(call, verb, locked.isOwn) ? locked : denied();
  };

  const prepareNew = (sent: Sent<T>, writing: Writing<L>): Outcome<T> => {
    const draft = newDraft(schema, columns, sent.message) as T | Fault;
    if (draft instanceof Fault) return { fault: draft };
    if (!mayPublish(writing.call, { isOwn: true })) stamp(draft, columns, { is_published: false });
    stampCreated(draft, columns, writing.call);
    return prepareDraft(draft, undefined, { ...writing, sent });
  };

  const prepareChange = (before: Locked<T>, update: Update<T>, writing: Writing<L>): Outcome<T> => {
    const writable = mayPublish(writing.call, before) ? columns : columns.filter(isNotPublication);
    const draft = changedDraft(schema, writable, before.message, update) as T | Fault;
    return draft instanceof Fault
      ? { fault: draft }
      : prepareDraft(draft, before, { ...writing, sent: update });
  };

  const prepareDraft = (
    draft: T,
    before: Stored<T> | undefined,
    writing: Writing<L> & { sent: Sent<T> },
  ): Outcome<T> => {
    const fault = faultIn(draft, before?.message, writing);
    if (fault) return { fault };
    if (before && isSame(columns, before.message, draft)) return { saved: before, before, isChanged: false };
    if (before) stampModified(draft, columns, writing.call);
    const version = (before?.version ?? 0) + 1;
    return { saved: { message: draft, version }, before, isChanged: true };
  };

  /** Everything that is wrong with a draft, unless it is too long to be worked on. */
  const faultIn = (
    draft: T,
    before: T | undefined,
    writing: Writing<L> & { sent: Sent<T> },
  ): Fault | undefined => {
    const tooLong = rules.lengths(draft, before);
    if (tooLong.length > 0) return invalid(tooLong);
    options.clean?.(draft, before);
    const violations = rules.values(draft, before);
    // Read before `prepare`, which renames and reorders items: violations name members as the caller sent them.
    const needs = options.needs?.(draft) ?? [];
    for (const judge of [
      () => settleReferences(referring, draft, { before, ...writing }),
      () => options.prepare?.(draft, { before, ...writing }) ?? [],
      () => unmetNeeds(needs, (before && options.needs?.(before)) ?? [], writing),
    ]) {
      const found = judge();
      if (found instanceof Fault) return found;
      violations.push(...found.filter(({ field }) => !violations.some((known) => known.field === field)));
    }
    return violations.length > 0 ? invalid(violations) : undefined;
  };

  /** Writes what was decided: new rows get ids, changed rows a version, both an event. */
  const write = async (transaction: Transaction, outcomes: Outcome<T>[]): Promise<void> => {
    const changes = outcomes.filter(isChange);
    const added = changes.filter(({ before }) => !before).map(({ saved }) => saved);
    const edited = changes.filter(({ before }) => before).map(({ saved }) => saved);
    const drafts = changes.map(({ saved, before }) => ({ draft: saved.message, before: before?.message }));
    await makeAliases?.(transaction, drafts);
    await numberItems(transaction, table, columns, drafts);
    if (added.length > 0) {
      const ids = await transaction.query(statements.nextIds, [added.length]);
      added.forEach(({ message }, index) => {
        message.id = Number(ids[index]?.id);
      });
      transaction.execute(statements.insert, [records(added, columns)]);
    }
    if (edited.length > 0) transaction.execute(statements.update, [records(edited, columns)]);
    outbox.append(transaction, [...events("created", added), ...events("updated", edited)]);
    if (changes.length > 0)
      await options.changed?.(
        transaction,
        changes.map(({ saved, before }) => ({ before: before?.message, after: saved.message })),
      );
  };

  const events = (verb: string, stored: Stored<T>[]) =>
    stored.map(({ message, version }) => ({
      subject: `${subject}.${verb}`,
      aggregateId: message.id,
      aggregateVersion: version,
      payload: encodeEvent(schema, message),
    }));

  const load = async (
    transaction: Transaction,
    call: Call,
    { messages, visible }: { messages: (T | undefined)[]; visible: Visible },
    ids: number[],
  ): Promise<Writing<L>> => ({
    call,
    visible,
    loaded: (await options.load?.(transaction, call, messages, ids)) as L,
    referred: await findReferred(referring, transaction, messages, call),
  });

  const show = async (items: T[], call: Call, from: Database): Promise<void> => {
    await showReferences(referring, from, items, call);
    await options.show?.(items, call, from);
  };

  /** Completes the answer to a write before its commit: what fails here, or is too long, has changed nothing. */
  const showWritten = async (
    transaction: Transaction,
    outcomes: Outcome<T>[],
    call: Call,
  ): Promise<Outcome<T>[]> => {
    const items = outcomes.flatMap((outcome) => ("saved" in outcome ? [outcome.saved.message] : []));
    await show(items, call, joined(database, transaction));
    if (items.length > 1) checkLength(items);
    return outcomes;
  };

  /** Waits for other services before the transaction begins, so that no database connection is held meanwhile. */
  const lookUp = async (messages: (T | undefined)[], call: Call): Promise<Visible> => {
    await options.before?.(messages, call);
    await awaitReferred(referring, messages, call);
    const needs = messages.flatMap((message) => (message && options.needs?.(message)) ?? []);
    return findNamed(needs, findVisible, call);
  };

  const createMany = async (messages: (T | undefined)[], call: Call): Promise<Outcome<T>[]> => {
    const visible = await lookUp(messages, call);
    return database.transaction(call.deadlineMs, async (transaction) => {
      const writing = await load(transaction, call, { messages, visible }, []);
      const outcomes = messages.map((message) => prepareNew({ message, updateMask: undefined }, writing));
      await write(transaction, outcomes);
      return showWritten(transaction, outcomes, call);
    });
  };

  const updateMany = async (updates: Update<T>[], call: Call): Promise<Outcome<T>[]> => {
    const messages = updates.map(({ message }) => message);
    const visible = await lookUp(messages, call);
    return database.transaction(call.deadlineMs, async (transaction) => {
      const ids = updates.map(({ id }) => id);
      const writing = await load(transaction, call, { messages, visible }, ids);
      const locked = await lock(transaction, ids, call);
      const outcomes = updates.map((update): Outcome<T> => {
        const isMissing = !locked.has(update.id);
        if (isMissing && update.allowMissing) {
          return call.reach(Verb.CREATE) === "none" ? { fault: denied() } : prepareNew(update, writing);
        }
        const before = changeable(locked.get(update.id), Verb.EDIT, call);
        if (before instanceof Fault) return { fault: before };
        const outcome = prepareChange(before, update, writing);
        // A later item of the same batch builds on this one.
        if ("saved" in outcome) locked.set(update.id, { ...before, ...outcome.saved });
        return outcome;
      });
      await write(transaction, lastOfEach(outcomes));
      return showWritten(transaction, outcomes, call);
    });
  };

  const deleteMany = (ids: number[], call: Call): Promise<Outcome<T>[]> =>
    database.transaction(call.deadlineMs, async (transaction) => {
      const locked = await lock(transaction, ids, call);
      const outcomes = ids.map((id): Outcome<T> => {
        const before = changeable(locked.get(id), Verb.DELETE, call);
        if (before instanceof Fault) return { fault: before };
        locked.delete(id);
        return { saved: { message: before.message, version: before.version + 1 }, before, isChanged: true };
      });
      const deleted = outcomes.flatMap((outcome) => ("saved" in outcome ? [outcome.saved] : []));
      transaction.execute(statements.delete, [deleted.map(({ message }) => message.id)]);
      outbox.append(transaction, events("deleted", deleted));
      const gone = deleted.map(({ message }) => ({ before: message, after: undefined }));
      if (gone.length > 0) await options.changed?.(transaction, gone);
      return showWritten(transaction, outcomes, call);
    });

  const one = async (outcomes: Promise<Outcome<T>[]>): Promise<Saved<T>> => {
    const [outcome] = await outcomes;
    if (!outcome) throw new Error("a batch of one has one outcome");
    if ("fault" in outcome) throw outcome.fault;
    return { item: outcome.saved.message, created: !outcome.before };
  };

  /** Items fail alone. Only a clash the database found fails all of them: then each is tried by itself. */
  const many = async <I>(
    items: I[],
    run: (items: I[], call: Call) => Promise<Outcome<T>[]>,
    call: Call,
  ): Promise<BatchResult<T>> => {
    const outcomes = await run(items, call).catch(async (error) => {
      if (violatedConstraint(error) === undefined) throw error;
      const alone: Outcome<T>[] = [];
      for (const item of items)
        alone.push(...(await run([item], call).catch((fault) => [{ fault: toFault(fault) }])));
      return alone;
    });
    return {
      items: outcomes.map((outcome) => ("saved" in outcome ? outcome.saved.message : (create(schema) as T))),
      statuses: outcomes.map((outcome) =>
        itemStatus("fault" in outcome ? outcome : { created: !outcome.before }),
      ),
    };
  };

  return {
    async get(id, call) {
      const [row] = await database.query(statements.get, [id, call.actor.id], call.deadlineMs);
      const locked = row && toLocked(row);
      if (!locked || !isVisible(call, locked)) throw notFound();
      await show([locked.message], call, database);
      return locked.message;
    },
    async list(query, call) {
      const asked = query ?? create(ListQuerySchema);
      const page = await listPage(database, source(call), asked, visible(call), call.deadlineMs);
      const items = page.rows.map((row) => toStored(row).message);
      await show(items, call, database);
      return { items, totalSize: page.totalSize, ids: page.ids };
    },
    create: (message, call) => one(createMany([message], call)),
    update: (update, call) => one(updateMany([update], call)),
    delete: async (id, call) => (await one(deleteMany([id], call))).item,
    batchCreate: (messages, call) => many(messages, createMany, call),
    batchUpdate: (updates, call) => many(updates, updateMany, call),
    batchDelete: (ids, call) => many(ids, deleteMany, call),
  };
}

/** A service without a finder lets properties name nothing. */
const findNone: FindVisible = async () => new Set();

/** Characters that the texts of a batch answer may have: in any encoding they fit into one message between services. */
const BATCH_LENGTH_MAX = 8 * 1024 * 1024;

/** Throws INVALID_ARGUMENT when these items are too long for one answer. */
function checkLength(items: Message[]): void {
  if (lengthOf(items) <= BATCH_LENGTH_MAX) return;
  throw badRequest("The answer to this batch would be too long. Send fewer items at once.");
}

/** The length of all texts and bytes in a value. */
function lengthOf(value: unknown): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + lengthOf(member), 0);
}

function mayReach(call: Call, verb: Verb, isOwn: boolean): boolean {
  const reach = call.reach(verb);
  return reach === "all" || (reach === "own" && isOwn);
}

function isVisible(call: Call, { isOwn, isShared }: { isOwn: boolean; isShared: boolean }): boolean {
  return mayReach(call, Verb.VIEW, isOwn || isShared);
}

const PUBLICATION = new Set(["is_published", "publish_up", "publish_down"]);

function isNotPublication({ name }: Column): boolean {
  return !PUBLICATION.has(name);
}

/** When a batch changes a row twice only its last state is written. */
function lastOfEach<T extends Resource>(outcomes: Outcome<T>[]): Outcome<T>[] {
  const last = new Map<number, Outcome<T>>();
  for (const outcome of outcomes) if (isEdit(outcome)) last.set(outcome.saved.message.id, outcome);
  return outcomes.filter((outcome) => !isEdit(outcome) || last.get(outcome.saved.message.id) === outcome);
}

function isChange<T>(outcome: Outcome<T>): outcome is Change<T> {
  return "saved" in outcome && outcome.isChanged;
}

function isEdit<T>(outcome: Outcome<T>): outcome is Change<T> {
  return isChange(outcome) && outcome.before !== undefined;
}

function records<T extends Resource>(stored: Stored<T>[], columns: Column[]): string {
  return JSON.stringify(stored.map(({ message, version }) => ({ ...toRecord(message, columns), version })));
}

/** Gives ids to the things within new and changed rows that have none: `<table>_<column>_ids` counts them. */
async function numberItems(
  transaction: Transaction,
  table: string,
  columns: Column[],
  changes: { draft: Message }[],
): Promise<void> {
  const drafts = changes.map(({ draft }) => draft);
  for (const [{ name }, items] of newItems(columns, drafts)) {
    const text = `select nextval('${table}_${name}_ids') as id from generate_series(1, (select $1::integer))`;
    const ids = await transaction.query({ text }, [items.length]);
    items.forEach((item, index) => {
      item.id = Number(ids[index]?.id);
    });
  }
}

/** JSON is compared by what it says, however it is written. */
function isSame(columns: Column[], before: Message, after: Message): boolean {
  return isDeepStrictEqual(toRecord(before, columns), toRecord(after, columns));
}
