import { create, type DescMessage } from "@bufbuild/protobuf";
import { type Database, joined, type Transaction, violatedConstraint } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { denied, Fault, notFound, toFault } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import { sql } from "kysely";
import { checkLength } from "./answer-length.ts";
import { columnsOf, fillFromRow } from "./columns.ts";
import { decisions } from "./decide.ts";
import { listPage } from "./list.ts";
import { type FindVisible, findNamed, type Visible } from "./needs.ts";
import { ownershipOf } from "./ownership.ts";
import { changeable, isVisible } from "./reach.ts";
import { awaitReferred, findReferred, referenceColumns, showReferences } from "./reference.ts";
import type {
  BatchResult,
  Repository,
  RepositoryOptions,
  ResourceContext,
  Saved,
  Update,
} from "./repository-options.ts";
import { placeOf, type Resource } from "./resource.ts";
import { resourceList } from "./resource-list.ts";
import { type Locked, lastOfEach, type Outcome, type Stored, type Writing } from "./row-change.ts";
import { rowStatements } from "./row-statements.ts";
import { rowEvents, rowWriter } from "./write-rows.ts";

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
  const { table } = placeOf(schema);
  const columns = columnsOf(schema);
  const referring = referenceColumns(columns, references);
  const ownership = ownershipOf({ ...options, table }, columns);
  const { deletion = "gone" } = options;
  const statements = rowStatements(table, columns, ownership, deletion);
  const decide = decisions(schema, columns, referring, options);
  const write = rowWriter<T>(schema, { outbox, columns, statements, changed: options.changed });
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

  const lock = async (
    transaction: Transaction,
    ids: number[],
    call: Call,
  ): Promise<Map<number, Locked<T>>> => {
    if (ids.length === 0) return new Map();
    const rows = await transaction.query(statements.lock, [ids, call.actor.id]);
    return new Map(rows.map((row) => [Number(row.id), toLocked(row)]));
  };

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
      const outcomes = messages.map((message) => decide.ofNew({ message, updateMask: undefined }, writing));
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
          return call.reach(Verb.CREATE) === "none" ? { fault: denied() } : decide.ofNew(update, writing);
        }
        const before = changeable(locked.get(update.id), Verb.EDIT, call);
        if (before instanceof Fault) return { fault: before };
        const outcome = decide.ofChange(before, update, writing);
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
      outbox.append(transaction, rowEvents(schema, "deleted", deleted));
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
