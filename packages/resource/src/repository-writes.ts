import { joined } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { unexpected } from "@tidings/rpc/expected";
import { denied, Fault } from "@tidings/rpc/fault";
import { longWork } from "@tidings/runtime/long-work";
import { checkLength } from "./answer-length.ts";
import { type Decisions, decisions } from "./decide.ts";
import { findNamed, type Visible } from "./needs.ts";
import { changeable } from "./reach.ts";
import { awaitReferred, findReferred } from "./reference.ts";
import type { Update } from "./repository-options.ts";
import type { RepositoryParts } from "./repository-parts.ts";
import type { Resource } from "./resource.ts";
import { type Locked, lastOfEach, type Outcome, type Writing } from "./row-change.ts";
import { SHARED_LOCK_WAIT_MS, sharedWrites } from "./shared-writes.ts";
import { rowEvents, rowWriter } from "./write-rows.ts";

/** Writes of several rows in one transaction, with an outcome for each in their order. */
export interface RepositoryWrites<T> {
  create(messages: (T | undefined)[], call: Call): Promise<Outcome<T>[]>;
  update(updates: Update<T>[], call: Call): Promise<Outcome<T>[]>;
  /** One, with others that the same caller sends meanwhile. */
  updateOne(update: Update<T>, call: Call): Promise<Outcome<T>[]>;
  delete(ids: number[], call: Call): Promise<Outcome<T>[]>;
}

export function repositoryWrites<T extends Resource, L>(parts: RepositoryParts<T, L>): RepositoryWrites<T> {
  const { database, outbox, schema, columns, referring, statements, options } = parts;
  const decide = decisions(schema, columns, referring, options);
  const write = rowWriter<T>(schema, { outbox, columns, statements, changed: options.changed });

  return {
    async create(messages, call) {
      const visible = await lookUp(parts, messages, call);
      return database.transaction(call.deadlineMs, async (transaction) => {
        const writing = await load(parts, transaction, call, { messages, visible, ids: [] });
        const outcomes = messages.map((message) => decide.ofNew({ message, updateMask: undefined }, writing));
        await write(transaction, outcomes);
        return showWritten(parts, transaction, outcomes, call);
      });
    },

    ...updatesOf(parts, decide, write),

    delete: (ids, call) =>
      database.transaction(call.deadlineMs, async (transaction) => {
        const locked = await lock(parts, transaction, ids, call);
        const outcomes = ids.map((id) => decideDeletion(schema.typeName, locked, id, call));
        const deleted = outcomes.flatMap((outcome) => ("saved" in outcome ? [outcome.saved] : []));
        transaction.execute(statements.delete, [deleted.map(({ message }) => message.id)]);
        outbox.append(transaction, rowEvents(schema, "deleted", deleted));
        const gone = deleted.map(({ message }) => ({ before: message, after: undefined }));
        if (gone.length > 0) await options.changed?.(transaction, gone);
        return showWritten(parts, transaction, outcomes, call);
      }),
  };
}

type Write<T> = (transaction: Transaction, outcomes: Outcome<T>[]) => Promise<void>;

function updatesOf<T extends Resource, L>(
  parts: RepositoryParts<T, L>,
  decide: Decisions<T, L>,
  write: Write<T>,
): Pick<RepositoryWrites<T>, "update" | "updateOne"> {
  const { database, schema } = parts;
  const updateFound = (updates: Update<T>[], visible: Visible, call: Call, isShared = false) => {
    const messages = updates.map(({ message }) => message);
    const ids = updates.map(({ id }) => id);
    const work = async (transaction: Transaction) => {
      const writing = await load(parts, transaction, call, { messages, visible, ids });
      const locked = await lock(parts, transaction, ids, call);
      const { pause } = longWork();
      const outcomes: Outcome<T>[] = [];
      for (const update of updates) {
        const pausing = pause();
        if (pausing) await pausing;
        outcomes.push(decideUpdate({ decide, type: schema.typeName }, locked, update, writing));
      }
      await write(transaction, lastOfEach(outcomes));
      return showWritten(parts, transaction, outcomes, call, isShared);
    };
    return database.transaction(call.deadlineMs, work, isShared ? { lockWaitMs: SHARED_LOCK_WAIT_MS } : {});
  };

  /** Each changes a row of its own. */
  const share = sharedWrites(async (singles: Single<T>[], call): Promise<(Outcome<T> | undefined)[]> => {
    const first = new Map(singles.toReversed().map((single) => [single.update.id, single]));
    const own = singles.filter((single) => first.get(single.update.id) === single);
    const updates = own.map(({ update }) => update);
    const outcomes = await updateFound(updates, allVisible(own), call, own.length > 1);
    return singles.map((single) => outcomes[own.indexOf(single)]);
  });

  return {
    async update(updates, call) {
      const messages = updates.map(({ message }) => message);
      return updateFound(updates, await lookUp(parts, messages, call), call);
    },

    async updateOne(update, call) {
      const visible = await lookUp(parts, [update.message], call);
      const mayShare = call.expected === undefined && !update.allowMissing;
      const outcome = mayShare ? await share({ update, visible, call }) : undefined;
      return outcome ? [outcome] : updateFound([update], visible, call);
    },
  };
}

/** An update whose named entities were looked up. */
interface Single<T extends Resource> {
  update: Update<T>;
  visible: Visible;
  call: Call;
}

function allVisible(singles: { visible: Visible }[]): Visible {
  const [only, ...others] = singles;
  if (only && others.length === 0) return only.visible;
  const all = new Map<string, Set<number>>();
  for (const { visible } of singles)
    for (const [type, ids] of visible) all.set(type, new Set([...(all.get(type) ?? []), ...ids]));
  return all;
}

/** Waits for other services before the transaction begins, so that no database connection is held meanwhile. */
async function lookUp<T extends Resource, L>(
  { options, referring, findVisible }: RepositoryParts<T, L>,
  messages: (T | undefined)[],
  call: Call,
): Promise<Visible> {
  await options.before?.(messages, call);
  await awaitReferred(referring, messages, call);
  const needs = messages.flatMap((message) => (message && options.needs?.(message)) ?? []);
  return findNamed(needs, findVisible, call);
}

async function load<T extends Resource, L>(
  { options, referring }: RepositoryParts<T, L>,
  transaction: Transaction,
  call: Call,
  { messages, visible, ids }: { messages: (T | undefined)[]; visible: Visible; ids: number[] },
): Promise<Writing<L>> {
  return {
    call,
    visible,
    loaded: (await options.load?.(transaction, call, messages, ids)) as L,
    referred: await findReferred(referring, transaction, messages, call),
  };
}

async function lock<T extends Resource, L>(
  { statements, toLocked }: RepositoryParts<T, L>,
  transaction: Transaction,
  ids: number[],
  call: Call,
): Promise<Map<number, Locked<T>>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.query(statements.lock, [ids, call.actor.id]);
  return new Map(rows.map((row) => [Number(row.id), toLocked(row)]));
}

/** The next update of the same row builds on this one. */
function decideUpdate<T extends Resource, L>(
  { decide, type }: { decide: Decisions<T, L>; type: string },
  locked: Map<number, Locked<T>>,
  update: Update<T>,
  writing: Writing<L>,
): Outcome<T> {
  const { call } = writing;
  const { id } = update;
  if (!locked.has(id) && update.allowMissing) {
    const fault = unexpected(call, type, { id, version: undefined });
    if (fault) return { fault };
    return call.reach(Verb.CREATE) === "none" ? { fault: denied() } : decide.ofNew(update, writing);
  }
  const before = changeable(locked.get(id), Verb.EDIT, call);
  if (before instanceof Fault) return { fault: before };
  const fault = unexpected(call, type, { id, version: before.version });
  if (fault) return { fault };
  const outcome = decide.ofChange(before, update, writing);
  if ("saved" in outcome) locked.set(update.id, { ...before, ...outcome.saved });
  return outcome;
}

/** An id that is named twice is deleted once. */
function decideDeletion<T>(type: string, locked: Map<number, Locked<T>>, id: number, call: Call): Outcome<T> {
  const before = changeable(locked.get(id), Verb.DELETE, call);
  if (before instanceof Fault) return { fault: before };
  const fault = unexpected(call, type, { id, version: before.version });
  if (fault) return { fault };
  locked.delete(id);
  return { saved: { message: before.message, version: before.version + 1 }, before, isChanged: true };
}

/** Completes the answer to a write before its commit: what fails here, or is too long, has changed nothing. */
async function showWritten<T extends Resource, L>(
  { database, show }: RepositoryParts<T, L>,
  transaction: Transaction,
  outcomes: Outcome<T>[],
  call: Call,
  isShared = false,
): Promise<Outcome<T>[]> {
  const items = outcomes.flatMap((outcome) => ("saved" in outcome ? [outcome.saved.message] : []));
  await show(items, call, joined(database, transaction));
  // Writes that share a transaction are answered one by one.
  if (items.length > 1 && !isShared) checkLength(items);
  return outcomes;
}
