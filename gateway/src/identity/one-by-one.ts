import type { BatchResult, Repository } from "@tidings/resource/repository-options";
import type { Resource } from "@tidings/resource/resource";
import { toFault } from "@tidings/rpc/fault";
import { itemStatus } from "@tidings/rpc/fault-status";

/** The change of one entity. */
export type Changes<T extends Resource> = Pick<Repository<T>, "create" | "update" | "delete">;
type Batches<T extends Resource> = Pick<Repository<T>, "batchCreate" | "batchUpdate" | "batchDelete">;

/**
 * These changes, and batches as one of them after the other: the rules of users and roles look at what the items before
 * have left. `empty` stands for the item of one that failed.
 */
export function oneByOne<T extends Resource>(changes: Changes<T>, empty: () => T): Changes<T> & Batches<T> {
  return {
    ...changes,
    batchCreate: (messages, call) => each(messages, empty, (message) => changes.create(message, call)),
    batchUpdate: (updates, call) => each(updates, empty, (update) => changes.update(update, call)),
    batchDelete: (ids, call) =>
      each(ids, empty, async (id) => ({ item: await changes.delete(id, call), created: false })),
  };
}

async function each<I, T extends Resource>(
  items: I[],
  empty: () => T,
  work: (item: I) => Promise<{ item: T; created: boolean }>,
): Promise<BatchResult<T>> {
  const result: BatchResult<T> = { items: [], statuses: [] };
  for (const item of items) {
    const outcome = await work(item).catch((error: unknown) => ({ fault: toFault(error) }));
    result.items.push("item" in outcome ? outcome.item : empty());
    result.statuses.push(itemStatus(outcome));
  }
  return result;
}
