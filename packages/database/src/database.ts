import { setTimeout as pause } from "node:timers/promises";
import { deadlineExceeded, unavailable } from "@tidings/rpc/fault";
import { limited } from "@tidings/runtime/limited";
import type { Log } from "@tidings/runtime/log";
import { Pool, type PoolClient } from "pg";
import { serverClock } from "./clock.ts";
import { enclosures } from "./enclosure.ts";
import { isRetryable } from "./failure.ts";
import { watchPool } from "./pool-use.ts";
import type { Row, Statement } from "./statement.ts";
import {
  type Queryable,
  runTransaction,
  send,
  type Transaction,
  type TransactionOptions,
} from "./transaction.ts";
import { gatheringSocket } from "./wire/socket.ts";

export interface Database {
  query(statement: Statement, values: unknown[], deadlineMs: number): Promise<Row[]>;
  /**
   * Runs `work` in a transaction. Statements are pipelined: BEGIN travels with the first, COMMIT with the last.
   * `work` runs again after a deadlock, a serialization failure or a reference to a row that is gone, so it must not have
   * effects of its own.
   */
  transaction<T>(
    deadlineMs: number,
    work: (transaction: Transaction) => Promise<T>,
    options?: TransactionOptions,
  ): Promise<T>;
  /**
   * Runs `work` as a transaction with all that it does with this database, whatever functions it calls for that: their transactions
   * are parts of it. It runs again like the work of a transaction, and where one of those failed: then they are savepoints, which can be
   * made up for. Half of the connections at most do this at a time, since `work` may wait for other services meanwhile.
   */
  enclose<T>(deadlineMs: number, work: (transaction: Transaction) => Promise<T>): Promise<T>;
  /** Does within `enclose` what is not a part of its transaction: what other calls share. */
  outside<T>(work: () => T): T;
  /** The database's time, in milliseconds since the epoch, by which what happens is dated: the clocks of processes may be wrong. */
  now(): number;
  /** Can a query be answered at all? */
  ping(): Promise<boolean>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  url: string;
  log: Log;
  /** 20 when absent. */
  connectionsMax?: number;
}

/**
 * In a WHERE: the commit of this statement alone does not wait for the disk. For what is harmless when it comes back after a
 * crash.
 */
export const WITHOUT_FLUSH = "(select set_config('synchronous_commit', 'off', true)) is not null";

const CONNECTIONS_MAX = 20;
const CONNECT_TIMEOUT_MS = 5_000;
/** A database that said nothing until so long after its statement should have ended is not there. */
const SILENCE_MS = 1_000;
const KEEP_ALIVE_AFTER_MS = 10_000;
const PING_MS = 2_000;
const CLOCK = { text: "select extract(epoch from clock_timestamp()) * 1000 as ms" };
const TRANSACTION_ATTEMPTS = 4;
const FIRST_BACKOFF_MS = 5;

const texts = new Map<string, string>();

/** A statement that is prepared once per connection. The name must be unique in the process: a second text is a bug. */
export function prepared(name: string, text: string): Required<Statement> {
  const known = texts.get(name);
  if (known !== undefined && known !== text) throw new Error(`two statements are called ${name}`);
  texts.set(name, text);
  return { name, text };
}

/** The statements of all modules that this process has loaded. */
export function preparedStatements(): Required<Statement>[] {
  return [...texts].map(([name, text]) => ({ name, text }));
}

export function openDatabase(options: DatabaseOptions): Database {
  const pool = openPool(options);
  const unwatch = watchPool(pool);
  const enclosing = enclosures();
  const takeTurn = limited(Math.max(1, Math.floor((options.connectionsMax ?? CONNECTIONS_MAX) / 2)));
  const database: Database = {
    query: (statement, values, deadlineMs) =>
      enclosing.current()?.query(statement, values) ??
      withClient(pool, deadlineMs, (client) => send(client, statement, values)),
    async transaction(deadlineMs, work, options = {}) {
      for (let attempt = 1; ; attempt += 1) {
        try {
          return await (enclosing.part(work) ??
            withClient(pool, deadlineMs, (client) => runTransaction(client, work, options)));
        } catch (error) {
          if (attempt === TRANSACTION_ATTEMPTS || !isRetryable(error)) throw error;
          // The winner of the deadlock takes its locks before this transaction asks for them again.
          await pause(Math.random() * FIRST_BACKOFF_MS * 2 ** attempt);
        }
      }
    },
    enclose: (deadlineMs, work) =>
      takeTurn(() => enclosing.enclose((within) => database.transaction(deadlineMs, within), work)),
    outside: enclosing.outside,
    now: () => clock.now(),
    async ping() {
      await withClient(pool, Date.now() + PING_MS, async (client) => {
        const askedAtMs = performance.now();
        const [row] = await send(client, CLOCK, []);
        clock.note(Number(row?.ms), askedAtMs);
      });
      return true;
    },
    close() {
      unwatch();
      return pool.end();
    },
  };
  const clock = serverClock(database.ping);
  return database;
}

function openPool(options: DatabaseOptions): Pool {
  const pool = new Pool({
    connectionString: options.url,
    max: options.connectionsMax ?? CONNECTIONS_MAX,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    pipeline: true,
    stream: gatheringSocket,
  });
  // Without a listener a lost connection would end the process.
  pool.on("error", (error) => options.log.warn({ err: error }, "database connection lost"));
  pool.on("connect", (client) => {
    client.on("error", (error) => options.log.warn({ err: error }, "database connection lost"));
  });

  return pool;
}

async function connect(pool: Pool, deadlineMs: number): Promise<PoolClient> {
  if (deadlineMs <= Date.now()) throw deadlineExceeded();
  const client = await pool.connect().catch((error) => {
    throw unavailable(error);
  });
  limitStatements(client, deadlineMs);
  return client;
}

/** Works with a connection. The server keeps the deadline; a connection that says nothing then is torn down. */
async function withClient<T>(
  pool: Pool,
  deadlineMs: number,
  work: (client: PoolClient) => Promise<T>,
): Promise<T> {
  const client = await connect(pool, deadlineMs);
  let isSilent = false;
  const silence = setTimeout(
    () => {
      isSilent = true;
      client.connection.stream.destroy();
    },
    Math.max(0, deadlineMs - Date.now()) + SILENCE_MS,
  );
  try {
    return await work(client);
  } catch (error) {
    throw isSilent ? deadlineExceeded(error) : error;
  } finally {
    clearTimeout(silence);
    client.release(isSilent);
  }
}

/** Asks the database outside of any transaction, until the deadline. */
export function queryable(database: Database, deadlineMs: number): Queryable {
  return { query: (statement, values = []) => database.query(statement, values, deadlineMs) };
}

/** The database as seen from within a transaction: what is done with it is a part of that. */
export function joined(database: Database, transaction: Transaction): Database {
  return {
    ...database,
    query: (statement, values) => transaction.query(statement, values),
    transaction: (_deadlineMs, work) => work(transaction),
  };
}

/** Seconds that a connection's statements may take at present; asked for again only when it changes. */
const statementLimits = new WeakMap<PoolClient, number>();

/** A connection keeps a shorter limit than it might have, within this factor: changing it costs a statement. */
const LIMIT_SLACK = 4;

/**
 * Gives what is left of the deadline, rounded up to a second, to Postgres as statement_timeout. A statement may get less
 * time than the call has left, never more.
 */
function limitStatements(client: PoolClient, deadlineMs: number): void {
  const seconds = Math.ceil((deadlineMs - Date.now()) / 1000);
  const current = statementLimits.get(client) ?? 0;
  if (current <= seconds && current * LIMIT_SLACK >= seconds) return;
  statementLimits.set(client, seconds);
  client.query(`set statement_timeout = '${seconds}s'`).catch(() => statementLimits.delete(client));
}

/** Asks by the indexes of tables that grow from nothing to a million rows in less time than Postgres takes to learn of it. */
export function queryByIndex(
  database: Database,
  statement: Statement,
  values: unknown[],
  deadlineMs = backgroundDeadline(),
): Promise<Row[]> {
  return database.transaction(deadlineMs, ({ query }) => query(statement, values), {
    byIndex: true,
    isOneTrip: true,
  });
}

/** A deadline for work that nobody waits for: the relay, the delivery, clean-up. */
export function backgroundDeadline(): number {
  return Date.now() + 10_000;
}
