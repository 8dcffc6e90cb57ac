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
