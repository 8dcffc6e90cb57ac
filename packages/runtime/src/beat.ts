/** A poll that would come sooner than this is left to the next tick. */
const EARLIEST = 0.1;

/**
 * Milliseconds until the clock is at a whole multiple of `periodMs` again, a tenth of it at least. What looks so often of its own accord
 * looks on the beat: all loops of a process at once, which wakes it, and the database, once.
 */
export function untilBeat(periodMs: number, nowMs = Date.now()): number {
  const restMs = periodMs - (nowMs % periodMs);
  return restMs < EARLIEST * periodMs ? restMs + periodMs : restMs;
}
