import { prepared } from "./database.ts";
import type { Transaction } from "./transaction.ts";

/** An advisory lock of this schema (PostgreSQL, 13.3.5). A transaction holds it until it ends. */
export interface Lock {
  /** Waits until no other transaction holds it in any way. */
  exclusive(transaction: Transaction): void;
  /** Waits until no other transaction holds it exclusively. */
  shared(transaction: Transaction): void;
}

/** One lock for each id. Locks are taken in the order of the ids, so that two transactions never wait for each other. */
export interface LocksById {
  exclusive(transaction: Transaction, ids: number[]): void;
  shared(transaction: Transaction, ids: number[]): void;
}

/** SQL: the key of a lock. The schema is a part of it, so that two products in one database have locks of their own. */
export function lockKey(name: string): string {
  return `hashtext(current_schema() || '.${name}')`;
}

export function advisoryLock(name: string): Lock {
  const exclusive = prepared(`advisory_lock ${name}`, `select pg_advisory_xact_lock(${lockKey(name)})`);
  const shared = prepared(
    `advisory_lock_shared ${name}`,
    `select pg_advisory_xact_lock_shared(${lockKey(name)})`,
  );
  return {
    exclusive: (transaction) => transaction.execute(exclusive),
    shared: (transaction) => transaction.execute(shared),
  };
}

export function advisoryLocksById(name: string): LocksById {
  const statement = (kind: string, call: string) =>
    prepared(
      `advisory_${kind} ${name}`,
      `select ${call}(${lockKey(name)}, id) from (select distinct unnest($1::integer[]) as id order by id) as sorted`,
    );
  const exclusive = statement("locks", "pg_advisory_xact_lock");
  const shared = statement("locks_shared", "pg_advisory_xact_lock_shared");
  return {
    exclusive: (transaction, ids) => transaction.execute(exclusive, [ids]),
    shared: (transaction, ids) => transaction.execute(shared, [ids]),
  };
}
