import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { Visitor } from "./sighting.ts";
import type { VisitFact } from "./visit-fact.ts";

/** Two, so that one group may wait for the disk while the other works. */
const AT_ONCE = 2;
const GROUP_MAX = 500;

/**
 * Facts that arrive while a commit is in flight are committed together: rows, counters and events are one transaction (group commit). Answers
 * the visitor of a fact once it is durable; undefined for a machine, and for a person who may not be known.
 */
export function groupCommit<F extends VisitFact>(
  record: (facts: F[]) => Promise<ReadonlyMap<F, Visitor>>,
): (fact: F) => Promise<Visitor | undefined> {
  const commit = coalesce(record, { atOnce: AT_ONCE, itemsMax: GROUP_MAX });
  return async (fact) => (await commit("facts", fact)).get(fact);
}
