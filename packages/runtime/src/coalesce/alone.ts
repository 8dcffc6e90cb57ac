import { AsyncLocalStorage } from "node:async_hooks";

/** Work that is mixed with nothing, or with that of its own group; undefined: with that of everybody. */
type Company = "alone" | { group: symbol };

const storage = new AsyncLocalStorage<Company | undefined>();

/** Does work that must not be mixed with that of others, as what belongs to a transaction of its caller. */
export function alone<T>(work: () => T): T {
  return storage.run("alone", work);
}

/** Does work as usual again, within `alone`. */
export function together<T>(work: () => T): T {
  return storage.run(undefined, work);
}

/** Does work whose parts may be mixed with each other, and with nothing else. */
export function amongThemselves<T>(work: () => T): T {
  return storage.run({ group: Symbol("group") }, work);
}

/** Is the present work done by `alone`? */
export function isAlone(): boolean {
  return storage.getStore() === "alone";
}

/** The group of the present work; undefined where that may be mixed with the work of everybody. */
export function presentGroup(): symbol | undefined {
  const company = storage.getStore();
  return typeof company === "object" ? company.group : undefined;
}
