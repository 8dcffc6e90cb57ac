/** The latest of what came with a mark, and how often the mark came. */
export interface Seen<T> {
  count: number;
  latest: T;
}

export interface Marks<T> {
  note(mark: string, latest: T): void;
  /** Answers once the mark has come `count` times; undefined when it has not within that time, or the client went away. */
  awaited(
    mark: string,
    asked: { count: number; withinMs: number; signal: AbortSignal },
  ): Promise<Seen<T> | undefined>;
}

/** Remembers up to `marksMax` marks; the oldest go first. */
export function markRegister<T>(marksMax: number): Marks<T> {
  const seen = new Map<string, Seen<T>>();
  const waiting = new Map<string, Set<() => void>>();
  const found = (mark: string, count: number) => {
    const known = seen.get(mark);
    return known && known.count >= count ? known : undefined;
  };
  return {
    note(mark, latest) {
      seen.set(mark, { count: (seen.get(mark)?.count ?? 0) + 1, latest });
      const [oldest = ""] = seen.keys();
      if (seen.size > marksMax) seen.delete(oldest);
      for (const look of waiting.get(mark) ?? []) look();
    },
    awaited(mark, { count, withinMs, signal }) {
      const present = found(mark, count);
      if (present || withinMs === 0) return Promise.resolve(present);
      const { promise, resolve } = Promise.withResolvers<Seen<T> | undefined>();
      const looks = waiting.get(mark) ?? new Set();
      waiting.set(mark, looks);
      const end = () => {
        clearTimeout(patience);
        signal.removeEventListener("abort", end);
        looks.delete(look);
        if (looks.size === 0) waiting.delete(mark);
        resolve(found(mark, count));
      };
      const look = () => found(mark, count) && end();
      const patience = setTimeout(end, withinMs);
      signal.addEventListener("abort", end);
      looks.add(look);
      return promise;
    },
  };
}
