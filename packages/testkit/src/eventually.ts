import { setTimeout as pause } from "node:timers/promises";

export interface Patience {
  /** 10000 when absent. */
  timeoutMs?: number;
  /** 20 when absent. */
  intervalMs?: number;
}

/** Repeats a check until it stops throwing and returns its value. Throws the last error when time is up. */
export async function eventually<T>(
  check: () => Promise<T> | T,
  { timeoutMs = 10_000, intervalMs = 20 }: Patience = {},
): Promise<T> {
  const giveUpAt = Date.now() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (Date.now() + intervalMs > giveUpAt) throw error;
    }
    await pause(intervalMs);
  }
}
