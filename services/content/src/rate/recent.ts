/** How many mails of each domain a process handed over lately. */
export interface Recent {
  note(domain: string, nowMs: number): void;
  perSecond(domain: string, nowMs: number): number;
}

const WINDOW_MS = 10_000;
const SHORTEST_MS = 1_000;

/** Counts in two windows of 10 s, so that domains which get nothing any more take no memory. */
export function recentMails(): Recent {
  let present = { fromMs: 0, counts: new Map<string, number>() };
  let before = present;
  const advance = (nowMs: number) => {
    if (nowMs < present.fromMs + WINDOW_MS) return;
    const last = present;
    present = { fromMs: nowMs, counts: new Map() };
    before = nowMs < last.fromMs + 2 * WINDOW_MS ? last : present;
  };
  return {
    note(domain, nowMs) {
      advance(nowMs);
      present.counts.set(domain, (present.counts.get(domain) ?? 0) + 1);
    },
    perSecond(domain, nowMs) {
      advance(nowMs);
      const windows = new Set([before, present]);
      const count = [...windows].reduce((sum, { counts }) => sum + (counts.get(domain) ?? 0), 0);
      return (count * 1_000) / Math.max(SHORTEST_MS, nowMs - before.fromMs);
    },
  };
}
