import { setTimeout as pause } from "node:timers/promises";

/** Ends early, without an error, when the signal is aborted. */
export async function sleep(durationMs: number, signal: AbortSignal): Promise<void> {
  await pause(durationMs, undefined, { signal }).catch(() => undefined);
}
