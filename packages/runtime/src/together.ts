import { AsyncLocalStorage } from "node:async_hooks";

interface Batch<I, R> {
  items: I[];
  result: Promise<R>;
  begin(): Promise<void>;
}

interface Line<I, R> {
  underWay: number;
  waiting: Batch<I, R>[];
}

export interface TogetherOptions {
  /** How many goes of one key may be under way; one when absent. */
  atOnce?: number;
  /** How many items a go has at most; any number when absent. */
  itemsMax?: number;
}

/**
 * Does work of one kind in one go: what is asked for under a key in one turn of the event loop, or while as many goes as may be
 * are under way, is done together. Whoever asks waits for a go that begins afterwards and has his item, and shares its result or its
 * failure. A go runs in the asynchronous context of who asked first.
 */
export function together<I, R>(
  work: (items: I[]) => Promise<R>,
  { atOnce = 1, itemsMax = Number.POSITIVE_INFINITY }: TogetherOptions = {},
): (key: string, item: I) => Promise<R> {
  const lines = new Map<string, Line<I, R>>();

  const advance = (key: string, line: Line<I, R>) => {
    while (line.underWay < atOnce) {
      const batch = line.waiting.shift();
      if (!batch) break;
      line.underWay += 1;
      void batch.begin().finally(() => {
        line.underWay -= 1;
        advance(key, line);
      });
    }
    if (line.underWay === 0 && line.waiting.length === 0) lines.delete(key);
  };
  return (key, item) => {
    const line = lines.get(key) ?? { underWay: 0, waiting: [] };
    lines.set(key, line);
    const last = line.waiting.at(-1);
    if (last && last.items.length < itemsMax) {
      last.items.push(item);
      return last.result;
    }
    const batch = newBatch(item, work);
    line.waiting.push(batch);
    setImmediate(advance, key, line);
    return batch.result;
  };
}

function newBatch<I, R>(item: I, work: (items: I[]) => Promise<R>): Batch<I, R> {
  const { promise, resolve, reject } = Promise.withResolvers<R>();
  const items = [item];
  const inContext = AsyncLocalStorage.snapshot();
  return { items, result: promise, begin: () => inContext(work, items).then(resolve, reject) };
}
