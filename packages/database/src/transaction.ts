import { limited } from "@tidings/runtime/limited";
import { watchStatement } from "@tidings/runtime/telemetry";
import type { PoolClient } from "pg";
import { databaseFault, isAfterFailure } from "./failure.ts";
import type { Row, Statement } from "./statement.ts";
import { TextQuery } from "./wire/text-query.ts";

export interface Queryable {
  query(statement: Statement, values?: unknown[]): Promise<Row[]>;
}

export interface Transaction extends Queryable {
  /** Sends a statement without waiting. It is awaited with the commit; its failure fails the transaction. */
  execute(statement: Statement, values?: unknown[]): void;
  /** Runs once the transaction is durable. */
  afterCommit(listener: () => void): void;
  /**
   * Runs `work` as a part of this transaction that can fail alone: what it did is taken back then, and the transaction goes on (PostgreSQL,
   * SAVEPOINT). One runs at a time; others wait for their turn.
   */
  savepoint<T>(work: (transaction: Transaction) => Promise<T>): Promise<T>;
}

export interface TransactionOptions {
  /** How long a statement waits for a lock before the transaction fails; until the deadline when absent. */
  lockWaitMs?: number;
  /**
   * Walks indexes, whatever is known of the tables. The plan of a prepared statement is kept: one that was made while a table
   * was small would read all of it once it has grown. No rows are sorted that an index has in order, even where all of it is read for that: who
   * joins a few rows orders them by an expression, such as `id + 0`.
   */
  byIndex?: boolean | undefined;
  /** `work` sends all statements before it waits for any: COMMIT travels with them, and where one fails it takes the others back. */
  isOneTrip?: boolean | undefined;
}

/** Runs `work` on a connection between BEGIN and COMMIT. */
export async function runTransaction<T>(
  client: PoolClient,
  work: (transaction: Transaction) => Promise<T>,
  { lockWaitMs, byIndex = false, isOneTrip = false }: TransactionOptions,
): Promise<T> {
  const listeners: (() => void)[] = [];
  const { transaction, pending } = partOf(client, listeners);
  transaction.execute(byIndex ? BEGIN_BY_INDEX : BEGIN);
  if (lockWaitMs !== undefined) transaction.execute({ text: `set local lock_timeout = ${lockWaitMs}` });
  try {
    const working = work(transaction);
    if (!isOneTrip) await working;
    transaction.execute(COMMIT);
    const [result] = await Promise.all([working, ...pending]);
    for (const listener of listeners) listener();
    return result;
  } catch (error) {
    await send(client, ROLLBACK, []).catch(() => undefined); // the connection is gone: so is the transaction
    throw isAfterFailure(error) ? await firstFailure(pending) : error;
  }
}

async function runSavepoint<T>(
  client: PoolClient,
  listeners: (() => void)[],
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const own: (() => void)[] = [];
  const { transaction, pending } = partOf(client, own);
  transaction.execute(SAVEPOINT);
  try {
    const result = await work(transaction);
    transaction.execute(RELEASE);
    await Promise.all(pending);
    listeners.push(...own);
    return result;
  } catch (error) {
    await send(client, TAKE_BACK, []).catch(() => undefined); // the connection is gone: so is the transaction
    throw isAfterFailure(error) ? await firstFailure(pending) : error;
  }
}

/** The statements of a transaction, or of a savepoint in it, and how each of them ends. */
function partOf(client: PoolClient, listeners: (() => void)[]) {
  const pending: Promise<unknown>[] = [];
  const enqueue = (statement: Statement, values: unknown[] = []) => {
    const result = send(client, statement, values);
    result.catch(() => undefined); // seen again when the transaction ends
    pending.push(result);
    return result;
  };
  let takeTurn: ReturnType<typeof limited> | undefined;
  const transaction: Transaction = {
    query: enqueue,
    execute: (statement, values) => void enqueue(statement, values),
    afterCommit: (listener) => listeners.push(listener),
    savepoint(work) {
      takeTurn ??= limited(1);
      return takeTurn(() => runSavepoint(client, listeners, work));
    },
  };
  return { transaction, pending };
}

/** Why the first of the statements that failed did. */
async function firstFailure(pending: Promise<unknown>[]): Promise<unknown> {
  const outcomes = await Promise.allSettled(pending);
  return outcomes.find((outcome) => outcome.status === "rejected")?.reason;
}

const BEGIN = { text: "begin" };
const BEGIN_BY_INDEX = {
  text: "begin; set local enable_seqscan = off; set local enable_bitmapscan = off; set local enable_sort = off",
};
const COMMIT = { text: "commit" };
const ROLLBACK = { text: "rollback" };
// The innermost of the name is meant.
const SAVEPOINT = { text: "savepoint part" };
const RELEASE = { text: "release savepoint part" };
const TAKE_BACK = { text: "rollback to savepoint part; release savepoint part" };

/** Sends a statement behind those that are on their way. */
export function send(client: PoolClient, statement: Statement, values: unknown[]): Promise<Row[]> {
  const watched = watchStatement(statement);
  return new Promise((resolve, reject) => {
    const done = (error: Error | null, rows: Row[]) => {
      watched?.(error);
      if (error) reject(databaseFault(error));
      else resolve(rows);
    };
    client.query(new TextQuery(statement, values, done));
  });
}
