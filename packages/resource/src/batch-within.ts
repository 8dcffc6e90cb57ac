import type { Fault } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import type { BatchResult } from "./repository-options.ts";

/** Does a batch without the items that have a fault already, and puts these back in their places. */
export async function batchWithin<I, T>(
  items: I[],
  faults: (Fault | undefined)[],
  empty: () => T,
  work: (allowed: I[]) => Promise<BatchResult<T>>,
): Promise<BatchResult<T>> {
  const allowed = items.filter((_, index) => !faults[index]);
  const done = await work(allowed);
  const outcomes = done.items.map((item, index) => ({ item, status: done.statuses[index] })).values();
  const all = faults.map((fault) =>
    fault ? { item: empty(), status: itemStatus({ fault }) } : outcomes.next().value,
  );
  return {
    items: all.map((outcome) => outcome?.item ?? empty()),
    statuses: all.flatMap((outcome) => outcome?.status ?? []),
  };
}
