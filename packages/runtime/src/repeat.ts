import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "./log.ts";

export interface Repetition {
  /** Finishes the step in hand. */
  stop(): Promise<void>;
}

/**
 * Does a step over and over: at once again while it answers that there was something to do, else after `intervalMs`. A step
 * that fails is logged, and tried again after the same time.
 */
export function repeat(
  step: () => Promise<boolean>,
  { intervalMs, log, name }: { intervalMs: number; log: Log; name: string },
): Repetition {
  const stopping = new AbortController();
  const { signal } = stopping;
  const work = async () => {
    while (!signal.aborted) {
      const isBusy = await step().catch((error) => {
        log.warn({ err: error }, `${name} failed, trying again`);
        return false;
      });
      if (!isBusy) await pause(intervalMs, undefined, { signal }).catch(() => undefined); // we are to stop
    }
  };
  const running = work();
  return {
    stop() {
      stopping.abort();
      return running;
    },
  };
}
