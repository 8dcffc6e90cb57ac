import type { RawBuilder } from "kysely";

type Predicate = RawBuilder<unknown>;

/** SQL of the kept total of the rows that a predicate finds. */
const totals = new WeakMap<Predicate, RawBuilder<unknown>>();

/** The predicate, whose rows need not be counted where they are all that is asked for. */
export function withTotal(predicate: Predicate, total: RawBuilder<unknown> | undefined): Predicate {
  if (total) totals.set(predicate, total);
  return predicate;
}

export function totalOfRows(predicate: Predicate): RawBuilder<unknown> | undefined {
  return totals.get(predicate);
}
