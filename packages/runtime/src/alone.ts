import { AsyncLocalStorage } from "node:async_hooks";

const storage = new AsyncLocalStorage<boolean>();

/** Does work that must not be mixed with that of others, as what belongs to a transaction of its caller. */
export function alone<T>(work: () => T): T {
  return storage.run(true, work);
}

/** Does work as usual again, within `alone`. */
export function together<T>(work: () => T): T {
  return storage.run(false, work);
}

/** Is the present work done by `alone`? */
export function isAlone(): boolean {
  return storage.getStore() === true;
}
