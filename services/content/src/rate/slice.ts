/** A process uses the tokens of a slice without asking for each; those that are left after so long are lost. */
export const SLICE_MS = 500;

/** The parts of a budget of mails. Tokens that are spared are left to mails that somebody waits for. */
export function partsOf(perSecond: number): { sliceMax: number; burst: number; spared: number } {
  // Two where one would be lost between two looks at mails that were put off.
  const sliceMax = Math.max(Math.floor((perSecond * SLICE_MS) / 1_000), perSecond > 1 ? 2 : 1);
  const spared = Math.max(1, Math.floor(sliceMax / 5));
  return { sliceMax, burst: sliceMax + spared, spared };
}

/** The tokens of a shared budget that a process holds. Times are milliseconds of a monotonic clock. */
export interface Slice {
  /** Uses a token; false when there is none. */
  use(nowMs: number): boolean;
  isEmpty(nowMs: number): boolean;
  /** Returns a token whose mail did not go. */
  giveBack(): void;
  /** How many tokens to ask for. */
  wanted(waiting: number, sliceMax: number, nowMs: number): number;
  fill(granted: number, nowMs: number): void;
}

export function emptySlice(): Slice {
  let tokens = 0;
  let granted = 0;
  let untilMs = 0;
  const isEmpty = (nowMs: number) => tokens < 1 || nowMs >= untilMs;
  return {
    isEmpty,
    use(nowMs) {
      if (isEmpty(nowMs)) return false;
      tokens -= 1;
      return true;
    },
    giveBack() {
      tokens += 1;
    },
    // A slice that was used up before its end was too small.
    wanted(waiting, sliceMax, nowMs) {
      const grown = nowMs < untilMs ? granted * 2 : 1;
      return Math.max(1, Math.min(sliceMax, Math.max(waiting, grown)));
    },
    fill(count, nowMs) {
      tokens = count;
      granted = count;
      untilMs = nowMs + SLICE_MS;
    },
  };
}
