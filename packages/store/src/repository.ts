import {
  clearField,
  clone,
  create,
  type DescMessage,
  getOption,
  type Message,
  toBinary,
} from "@bufbuild/protobuf";
import type { FieldMask } from "@bufbuild/protobuf/wkt";
import { secret, Verb } from "@tidings/proto/tidings/api/v1/options";
import type { ItemStatus } from "@tidings/proto/tidings/type/v1/batch";
import { type ListQuery, ListQuerySchema, type Order } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { denied, Fault, invalid, notFound, toFault, type Violation } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import { type RawBuilder, sql } from "kysely";
import { type Column, columnsOf, fillFromRow, readField, toRecord, writeField } from "./columns.ts";
import type { Filterable } from "./condition.ts";
import { type Database, prepared, type Row, type Transaction, violatedConstraint } from "./database.ts";
import { type ListSource, listPage } from "./list.ts";
import type { Outbox } from "./outbox.ts";
import { type Ownership, type OwnershipOptions, ownershipOf } from "./ownership.ts";
import { columnCommand, idsCommand, type SearchCommand } from "./search.ts";
import { timestampFromMilliseconds } from "./timestamp.ts";

/** A resource as the repository knows it: a message with an id. */
export type Resource = Message & { id: number };

export interface RepositoryOptions<T extends Resource, L = undefined> extends OwnershipOptions {
  /** Prefix of the subjects of its events: `<events>.created`, `.updated`, `.deleted`. */
  events: string;
  /** Columns a plain search term looks into, or texts made of something else. */
  search: (string | RawBuilder<unknown>)[];
  order: { column: string; descending: boolean }[];
  /** Search commands of its own, asked before the standard ones of the same name. */
  commands?: ReadonlyMap<string, SearchCommand>;
  /** Its permissions have no publish actions: who may write a row publishes it. Otherwise that takes their right. */
  freelyPublished?: boolean;
  /** What `prepare` needs to know: read once for all items of a write, first of all in its transaction. */
  load?(transaction: Transaction, call: Call, messages: (T | undefined)[]): Promise<L>;
  /**
   * Called with the complete new state before it is written: may fill defaults in place, returns what is wrong with it,
   * or why it cannot be although nothing is wrong.
   */
  prepare?(draft: T, context: { before: T | undefined; call: Call; loaded: L }): Violation[] | Fault;
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

/** What is to become of one item, decided before anything is written. */
type Outcome<T> = { fault: Fault } | Change<T>;

/** One write: who asks for it and what was read for it. */
interface Writing<L> {
  call: Call;
  loaded: L;
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
  database: Database,
  outbox: Outbox,
  // Typed by message and not by schema: that keeps handler tables free of casts.
  schema: DescMessage & { readonly field: object },
  options: RepositoryOptions<T, L>,
): Repository<T> {
  const columns = columnsOf(schema);
  const ownership = ownershipOf(options, columns);
  const statements = rowStatements(options.table, columns, ownership);
  const source = listSource(options, columns);

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

  const prepareNew = (message: T | undefined, { call, loaded }: Writing<L>): Outcome<T> => {
    const draft = newDraft(schema, columns, message) as T;
    if (!mayPublish(call, { isOwn: true })) stamp(draft, columns, { is_published: false });
    stampCreated(draft, columns, call);
    return prepareDraft(draft, undefined, { call, loaded });
  };

  const prepareChange = (before: Locked<T>, update: Update<T>, writing: Writing<L>): Outcome<T> => {
    const writable = mayPublish(writing.call, before) ? columns : columns.filter(isNotPublication);
    const draft = changedDraft(schema, writable, before.message, update) as T;
    return prepareDraft(draft, before, writing);
  };

  const prepareDraft = (
    draft: T,
    before: Stored<T> | undefined,
    { call, loaded }: Writing<L>,
  ): Outcome<T> => {
    const violations = options.prepare?.(draft, { before: before?.message, call, loaded }) ?? [];
    if (violations instanceof Fault) return { fault: violations };
    if (violations.length > 0) return { fault: invalid(violations) };
    if (before && isSame(schema, before.message, draft)) return { saved: before, before, isChanged: false };
    if (before) stampModified(draft, columns, call);
    const version = (before?.version ?? 0) + 1;
    return { saved: { message: draft, version }, before, isChanged: true };
  };

  /** Writes what was decided: new rows get ids, changed rows a version, both an event. */
  const write = async (transaction: Transaction, outcomes: Outcome<T>[]): Promise<void> => {
    const changes = outcomes.filter(isChange);
    const added = changes.filter(({ before }) => !before).map(({ saved }) => saved);
    const edited = changes.filter(({ before }) => before).map(({ saved }) => saved);
    if (added.length > 0) {
      const ids = await transaction.query(statements.nextIds, [added.length]);
      added.forEach(({ message }, index) => {
        message.id = Number(ids[index]?.id);
      });
      transaction.execute(statements.insert, [records(added, columns)]);
    }
    if (edited.length > 0) transaction.execute(statements.update, [records(edited, columns)]);
    outbox.append(transaction, [...events("created", added), ...events("updated", edited)]);
  };

  const events = (verb: string, stored: Stored<T>[]) =>
    stored.map(({ message, version }) => ({
      subject: `${options.events}.${verb}`,
      aggregateId: message.id,
      aggregateVersion: version,
      payload: toBinary(schema, withoutSecrets(schema, message)),
    }));

  const load = async (
    transaction: Transaction,
    call: Call,
    messages: (T | undefined)[],
  ): Promise<Writing<L>> => ({
    call,
    loaded: (await options.load?.(transaction, call, messages)) as L,
  });

  const createMany = (messages: (T | undefined)[], call: Call): Promise<Outcome<T>[]> =>
    database.transaction(call.deadlineMs, async (transaction) => {
      const writing = await load(transaction, call, messages);
      const outcomes = messages.map((message) => prepareNew(message, writing));
      await write(transaction, outcomes);
      return outcomes;
    });

  const updateMany = (updates: Update<T>[], call: Call): Promise<Outcome<T>[]> =>
    database.transaction(call.deadlineMs, async (transaction) => {
      const messages = updates.map(({ message }) => message);
      const writing = await load(transaction, call, messages);
      const ids = updates.map(({ id }) => id);
      const locked = await lock(transaction, ids, call);
      const outcomes = updates.map((update): Outcome<T> => {
        const isMissing = !locked.has(update.id);
        if (isMissing && update.allowMissing) {
          return call.reach(Verb.CREATE) === "none"
            ? { fault: denied() }
            : prepareNew(update.message, writing);
        }
        const before = changeable(locked.get(update.id), Verb.EDIT, call);
        if (before instanceof Fault) return { fault: before };
        const outcome = prepareChange(before, update, writing);
        // A later item of the same batch builds on this one.
        if ("saved" in outcome) locked.set(update.id, { ...before, ...outcome.saved });
        return outcome;
      });
      await write(transaction, lastOfEach(outcomes));
      return outcomes;
    });

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
      return outcomes;
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
      return locked.message;
    },
    async list(query, call) {
      const asked = query ?? create(ListQuerySchema);
      const page = await listPage(database, source(call), asked, ownership.visible(call), call.deadlineMs);
      return {
        items: page.rows.map((row) => toStored(row).message),
        totalSize: page.totalSize,
        ids: page.ids,
      };
    },
    create: (message, call) => one(createMany([message], call)),
    update: (update, call) => one(updateMany([update], call)),
    delete: async (id, call) => (await one(deleteMany([id], call))).item,
    batchCreate: (messages, call) => many(messages, createMany, call),
    batchUpdate: (updates, call) => many(updates, updateMany, call),
    batchDelete: (ids, call) => many(ids, deleteMany, call),
  };
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

/** What may be told to others: events outlive the row and are read by every service. */
function withoutSecrets(schema: DescMessage, message: Message): Message {
  const secrets = schema.fields.filter((field) => getOption(field, secret));
  if (secrets.length === 0) return message;
  const shown = clone(schema, message);
  for (const field of secrets) clearField(shown, field);
  return shown;
}

function records<T extends Resource>(stored: Stored<T>[], columns: Column[]): string {
  return JSON.stringify(stored.map(({ message, version }) => ({ ...toRecord(message, columns), version })));
}

/** The sub-selects around arrays hide their lengths from the planner, which would plan anew for every call. */
function rowStatements(table: string, columns: Column[], { isOwn, isShared }: Ownership) {
  const names = columns.map(({ name }) => `"${name}"`);
  const definition = columns.map(({ name, sqlType }) => `"${name}" ${sqlType}`);
  const record = `json_to_recordset($1::json) as x(${definition.join(", ")}, version integer)`;
  const assignments = names.filter((name) => name !== '"id"').map((name) => `${name} = x.${name}`);
  const selected = `${names.join(", ")}, version`;
  const row = `select ${selected}, ${isOwn("$2")} as is_own, ${isShared} as is_shared from ${table}`;
  const byIds = "where id = any (array(select unnest($1::integer[])))";
  return {
    get: prepared(`${table}_get`, `${row} where id = $1`),
    lock: prepared(`${table}_lock`, `${row} ${byIds} order by id for update`),
    nextIds: prepared(
      `${table}_next_ids`,
      `select nextval(pg_get_serial_sequence('${table}', 'id')) as id from generate_series(1, (select $1::integer))`,
    ),
    insert: prepared(
      `${table}_insert`,
      `insert into ${table} (${selected}) overriding system value
       select ${names.map((name) => `x.${name}`).join(", ")}, x.version from ${record}`,
    ),
    update: prepared(
      `${table}_update`,
      `update ${table} set ${assignments.join(", ")}, version = x.version from ${record} where ${table}.id = x.id`,
    ),
    delete: prepared(`${table}_delete`, `delete from ${table} ${byIds}`),
  };
}

function listSource<T extends Resource, L>(options: RepositoryOptions<T, L>, columns: Column[]) {
  const refs = new Map(columns.map((column) => [column.name, sql.ref(column.name)]));
  const filterable = new Map<string, Filterable>();
  for (const column of columns.filter(({ secret }) => !secret)) {
    const entry = { sql: sql.ref(column.name), type: column.type };
    filterable.set(column.name, entry).set(column.jsonName, entry);
  }
  const ref = (name: string) => refs.get(name);
  const base = {
    from: sql.table(options.table),
    id: sql.ref("id"),
    select: sql.join([...refs.values(), sql.ref("version")]),
    columns: filterable,
    published: ref("is_published"),
    catchAll: options.search.map((name) => (typeof name === "string" ? sql.ref(name) : name)),
    defaultOrder: options.order as Order[],
  };
  return (call: Call): ListSource => {
    const commands = standardCommands(ref, call);
    for (const [name, own] of options.commands ?? []) {
      const standard = commands.get(name);
      commands.set(name, (term) => own(term) ?? standard?.(term));
    }
    return { ...base, commands };
  };
}

/** The search commands every resource has, as far as it has their columns. */
export function standardCommands(
  column: (name: string) => RawBuilder<unknown> | undefined,
  call: Call,
): Map<string, SearchCommand> {
  const published = column("is_published");
  const createdBy = column("created_by");
  const name = column("name");
  const states = new Map([
    ["published", published],
    ["unpublished", published && sql`not ${published}`],
    ["mine", createdBy && sql`${createdBy} = ${call.actor.id}::integer`],
  ]);
  const commands = new Map<string, SearchCommand>([
    ["ids", idsCommand(sql.ref("id"))],
    ["is", (term) => states.get(term.text)],
  ]);
  if (name) commands.set("name", columnCommand(name));
  return commands;
}

/** A new row: what the caller sent, the initial value where it sent nothing. */
function newDraft(schema: DescMessage, columns: Column[], message: Message | undefined): Message {
  const draft = create(schema);
  for (const column of columns) {
    const sent = column.outputOnly || !message ? undefined : readField(message, column);
    const value = sent ?? column.initial;
    if (value !== undefined) writeField(draft, column, value);
  }
  return draft;
}

/** The row after an edit: the fields of the mask, or with `*` every field, which clears those that were not sent. */
function changedDraft<T extends Resource>(
  schema: DescMessage,
  columns: Column[],
  before: T,
  { message, updateMask }: Update<T>,
): Message {
  const draft = clone(schema, before);
  const paths = updateMask?.paths ?? [];
  const isReplaced = paths.includes("*");
  for (const column of columns) {
    if (column.outputOnly || !(isReplaced || paths.includes(column.name))) continue;
    const sent = message && readField(message, column);
    writeField(draft, column, sent ?? (column.nullable ? undefined : column.zero));
  }
  return draft;
}

function isSame(schema: DescMessage, before: Message, after: Message): boolean {
  return Buffer.from(toBinary(schema, before)).equals(toBinary(schema, after));
}

function stampCreated(draft: Message, columns: Column[], call: Call): void {
  stamp(draft, columns, {
    date_added: timestampFromMilliseconds(Date.now()),
    created_by: call.actor.id ?? undefined,
    created_by_user: call.actor.name,
  });
}

function stampModified(draft: Message, columns: Column[], call: Call): void {
  stamp(draft, columns, {
    date_modified: timestampFromMilliseconds(Date.now()),
    modified_by: call.actor.id ?? undefined,
    modified_by_user: call.actor.name,
  });
}

function stamp(draft: Message, columns: Column[], values: Record<string, unknown>): void {
  for (const column of columns) if (column.name in values) writeField(draft, column, values[column.name]);
}
