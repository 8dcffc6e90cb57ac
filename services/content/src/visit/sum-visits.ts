import type { VisitFact } from "./visit-fact.ts";

/** Adds up visits by a key, and those of them that were their visitor's first. Visits without a key are left out. */
export function sumVisits<F extends VisitFact, K extends object>(
  facts: F[],
  unique: ReadonlySet<F>,
  keyOf: (fact: F) => K | undefined,
): (K & { hits: number; unique_hits: number })[] {
  const sums = new Map<string, K & { hits: number; unique_hits: number }>();
  for (const fact of facts) {
    const key = keyOf(fact);
    if (!key) continue;
    const name = JSON.stringify(key);
    const { hits, unique_hits } = sums.get(name) ?? { hits: 0, unique_hits: 0 };
    sums.set(name, {
      ...key,
      hits: hits + (fact.isCounted ? 0 : 1),
      unique_hits: unique_hits + (unique.has(fact) ? 1 : 0),
    });
  }
  return [...sums.values()];
}
