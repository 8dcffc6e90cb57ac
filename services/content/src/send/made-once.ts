import { LRUCache } from "lru-cache";

/** Makes the value of a key once, however many ask for it, and keeps the values of the `max` keys that were asked for last. A failure is not kept. */
export function madeOnce<T>(max: number): (key: string, make: () => Promise<T>) => Promise<T> {
  const known = new LRUCache<string, Promise<T>>({ max });
  return (key, make) => {
    const kept = known.get(key);
    if (kept) return kept;
    const made = make();
    known.set(key, made);
    made.catch(() => known.delete(key));
    return made;
  };
}
