import { toFault } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";
import type { BatchResult, Resource, Saved } from "@tidings/store/repository";

/**
 * A batch as single changes, one after the other: the rules of users and roles look at what the items before have left.
 * `empty` stands for the item of one that failed.
 */
export async function oneByOne<I, T extends Resource>(
  items: I[],
  empty: () => T,
  work: (item: I) => Promise<Saved<T>>,
): Promise<BatchResult<T>> {
  const result: BatchResult<T> = { items: [], statuses: [] };
  for (const item of items) {
    const outcome = await work(item).catch((error: unknown) => ({ fault: toFault(error) }));
    result.items.push("item" in outcome ? outcome.item : empty());
    result.statuses.push(itemStatus(outcome));
  }
  return result;
}
