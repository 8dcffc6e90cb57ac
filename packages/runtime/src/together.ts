import { AsyncLocalStorage } from "node:async_hooks";

interface Batch<I> {
  items: I[];
  done: Promise<void>;
  begin(): Promise<void>;
}

interface Line<I> {
  underWay: number;
  waiting: Batch<I>[];
}

export interface TogetherOptions {
  /** How many goes of one key may be under way; one when absent. */
  atOnce?: number;
  /** How many items a go has at most; any number when absent. */
  itemsMax?: number;
}

/**
 * Does work of one kind in one go: what is asked for under a key in one turn of the event loop, or while as many goes as may be
 * are under way, is done together. Whoever asks waits for the go that has his items, and shares its failure. A go runs in
 * the asynchronous context of who asked first.
 */
export function together<I>(
  work: (items: I[]) => Promise<void>,
  { atOnce = 1, itemsMax = Number.POSITIVE_INFINITY }: TogetherOptions = {},
): (key: string, item: I) => Promise<void> {
  const lines = new Map<string, Line<I>>();

  const advance = (key: string, line: Line<I>) => {
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
      return last.done;
    }
    const batch = newBatch(item, work);
    line.waiting.push(batch);
    setImmediate(advance, key, line);
    return batch.done;
  };
}

function newBatch<I>(item: I, work: (items: I[]) => Promise<void>): Batch<I> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const items = [item];
  const inContext = AsyncLocalStorage.snapshot();
  return { items, done: promise, begin: () => inContext(work, items).then(resolve, reject) };
}
