import { AsyncLocalStorage } from "node:async_hooks";
import { alone, together } from "@tidings/runtime/coalesce/alone";
import { mayBeCommitted } from "./failure.ts";
import type { Transaction } from "./transaction.ts";

type Work<T> = (transaction: Transaction) => Promise<T>;

/** A transaction that all work within it is a part of. */
interface Enclosure {
  /** Undefined once it is over: work that nobody waited for goes on without it. */
  transaction: Transaction | undefined;
  /** Are transactions within it savepoints? Most of the time none of them fails, and each would cost two statements. */
  hasSavepoints: boolean;
  /** Why a transaction within it failed that was no savepoint. */
  failure?: { error: unknown };
}

/** Work ended well although a transaction within it had failed. */
class MadeUpFor extends Error {}

export interface Enclosures {
  /** The transaction that the present work is a part of. */
  current(): Transaction | undefined;
  /** Runs the work of a transaction as a part of the present one; undefined where there is none. */
  part<T>(work: Work<T>): Promise<T> | undefined;
  /**
   * Encloses work in a transaction that `begin` runs. Transactions within it are first taken together, without savepoints. Where one of
   * them fails, which may show with the commit alone, the work decides with savepoints what becomes of that.
   */
  enclose<T>(begin: (work: Work<T>) => Promise<T>, work: Work<T>): Promise<T>;
  outside<T>(work: () => T): T;
}

export function enclosures(): Enclosures {
  const storage = new AsyncLocalStorage<Enclosure | undefined>();

  const enter = async <T>(transaction: Transaction, hasSavepoints: boolean, work: Work<T>): Promise<T> => {
    const enclosure: Enclosure = { transaction, hasSavepoints };
    try {
      const result = await storage.run(enclosure, () => work(transaction));
      if (enclosure.failure) throw new MadeUpFor();
      return result;
    } catch (error) {
      throw enclosure.failure && enclosure.failure.error !== error ? new MadeUpFor() : error;
    } finally {
      enclosure.transaction = undefined;
    }
  };

  const joinedIn = async <T>(enclosure: Enclosure, transaction: Transaction, work: Work<T>): Promise<T> => {
    try {
      return await work(transaction);
    } catch (error) {
      enclosure.failure ??= { error };
      throw error;
    }
  };

  return {
    current: () => storage.getStore()?.transaction,
    part(work) {
      const enclosure = storage.getStore();
      const transaction = enclosure?.transaction;
      if (!transaction) return undefined;
      if (!enclosure.hasSavepoints) return joinedIn(enclosure, transaction, work);
      return transaction.savepoint((savepoint) => enter(savepoint, true, work));
    },
    async enclose(begin, work) {
      let isWorkDone = false;
      const attempt = (hasSavepoints: boolean) =>
        begin(async (transaction) => {
          isWorkDone = false;
          const result = await alone(() => enter(transaction, hasSavepoints, work));
          isWorkDone = true;
          return result;
        });
      try {
        return await attempt(false);
      } catch (error) {
        const isOfCommit = isWorkDone && !mayBeCommitted(error);
        if (!isOfCommit && !(error instanceof MadeUpFor)) throw error;
        return attempt(true);
      }
    },
    outside: (work) => together(() => storage.run(undefined, work)),
  };
}
