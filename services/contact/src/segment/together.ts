interface Batch<I> {
  items: I[];
  done: Promise<void>;
}

/**
 * Does work of one kind in one go: what is asked for under a key while its work is under way is done together afterwards.
 * Whoever asks waits for the go that has his items, and shares its failure.
 */
export function together<I>(work: (items: I[]) => Promise<void>): (key: string, item: I) => Promise<void> {
  const underWay = new Map<string, Promise<void>>();
  const waiting = new Map<string, Batch<I>>();
  const run = async (key: string, batch: Batch<I>, before: Promise<void> | undefined) => {
    await before?.catch(() => undefined); // told to those who asked for it
    waiting.delete(key);
    underWay.set(key, batch.done);
    try {
      await work(batch.items);
    } finally {
      if (underWay.get(key) === batch.done) underWay.delete(key);
    }
  };
  return (key, item) => {
    const joined = waiting.get(key);
    if (joined) {
      joined.items.push(item);
      return joined.done;
    }
    const batch: Batch<I> = { items: [item], done: Promise.resolve() };
    waiting.set(key, batch);
    // Begins in a later turn: what comes in this one is in it.
    batch.done = Promise.resolve().then(() => run(key, batch, underWay.get(key)));
    return batch.done;
  };
}
