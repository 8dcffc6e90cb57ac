import { setTimeout as pause } from "node:timers/promises";

/** A poll that would come sooner than this is left to the next tick. */
const EARLIEST = 0.1;

/**
 * Milliseconds until the clock is at a whole multiple of `periodMs` again, a tenth of it at least. All polling loops of a process share
 * this tick, so that the process and the database wake once.
 */
export function untilTick(periodMs: number, nowMs = Date.now()): number {
  const restMs = periodMs - (nowMs % periodMs);
  return restMs < EARLIEST * periodMs ? restMs + periodMs : restMs;
}

/**
 * Does `work`, which never rejects, at each tick of a period until it is stopped, which waits for its end. The signal says that it is.
 * `atOnce` does it before the first tick, too.
 */
export function atEachTick(
  periodMs: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  { atOnce = false } = {},
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const run = async () => {
    if (atOnce) await work(signal);
    while (!signal.aborted) {
      await pause(untilTick(periodMs), undefined, { signal }).catch(() => undefined); // we are to stop
      if (!signal.aborted) await work(signal);
    }
  };
  const running = run();
  return {
    stop() {
      stopping.abort();
      return running;
    },
  };
}
