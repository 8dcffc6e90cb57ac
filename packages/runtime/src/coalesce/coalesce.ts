import { AsyncResource } from "node:async_hooks";
import { isAlone, presentGroup } from "./alone.ts";

interface Batch<I, R> {
  items: I[];
  result: Promise<R>;
  begin(): Promise<void>;
}

/** The batches of one key. */
interface Queue<I, R> {
  running: number;
  waiting: Batch<I, R>[];
}

export interface CoalesceOptions {
  /** The batches of one key that may run at a time; one when absent. */
  atOnce?: number;
  /** The most items of a batch; any number when absent. */
  itemsMax?: number;
}

/**
 * Coalesces calls into batches (as DataLoader, and group commit of databases): items of one key that come in one turn of the event
 * loop, or while as many batches as may be are running, are one call of `work`. A call is never delayed to wait for others. It gets the result or
 * the failure of a batch that begins after it and has its item. A batch runs in the asynchronous context of its first call. An item of work
 * that is done `alone` is a batch of its own, at once; items of a group (`amongThemselves`) have batches of their own.
 */
export function coalesce<I, R>(
  work: (items: I[]) => Promise<R>,
  { atOnce = 1, itemsMax = Number.POSITIVE_INFINITY }: CoalesceOptions = {},
): (key: string, item: I) => Promise<R> {
  /** By group, and by key in each. */
  const all = new Map<symbol | undefined, Map<string, Queue<I, R>>>();

  const advance = (group: symbol | undefined, key: string, queue: Queue<I, R>) => {
    while (queue.running < atOnce) {
      const batch = queue.waiting.shift();
      if (!batch) break;
      queue.running += 1;
      void batch.begin().finally(() => {
        queue.running -= 1;
        advance(group, key, queue);
      });
    }
    if (queue.running > 0 || queue.waiting.length > 0) return;
    const queues = all.get(group);
    queues?.delete(key);
    if (queues?.size === 0) all.delete(group);
  };
  return (key, item) => {
    if (isAlone()) return work([item]);
    const group = presentGroup();
    const queues = all.get(group) ?? new Map<string, Queue<I, R>>();
    all.set(group, queues);
    const queue = queues.get(key) ?? { running: 0, waiting: [] };
    queues.set(key, queue);
    const last = queue.waiting.at(-1);
    if (last && last.items.length < itemsMax) {
      last.items.push(item);
      return last.result;
    }
    const batch = newBatch(item, work);
    queue.waiting.push(batch);
    setImmediate(advance, group, key, queue);
    return batch.result;
  };
}

function newBatch<I, R>(item: I, work: (items: I[]) => Promise<R>): Batch<I, R> {
  const { promise, resolve, reject } = Promise.withResolvers<R>();
  const items = [item];
  // Not `AsyncLocalStorage.snapshot`, whose function has an accessor that V8 keeps with the whole request (ADR 37).
  const context = new AsyncResource("batch");
  return {
    items,
    result: promise,
    begin: () => context.runInAsyncScope(work, undefined, items).then(resolve, reject),
  };
}
