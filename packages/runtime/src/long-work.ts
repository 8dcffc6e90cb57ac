import { setImmediate as nextTurn } from "node:timers/promises";

/** How long the event loop may be held before others have it. */
const HELD_MAX_MS = 10;

/** For a loop over many items: `pause()` between them lets other work have the event loop when the loop has held it for 10 ms. */
export function longWork(): { pause(): Promise<void> | undefined } {
  let beganAt = performance.now();
  return {
    pause() {
      if (performance.now() - beganAt < HELD_MAX_MS) return undefined;
      return nextTurn().then(() => {
        beganAt = performance.now();
      });
    },
  };
}

/** Takes all steps of `work` without a pause: for what is known to be short. */
export function atOnce<T>(work: Generator<void, T>): T {
  let step = work.next();
  while (!step.done) step = work.next();
  return step.value;
}

/** Takes all steps of `work`, which may be many. Other work has the event loop between them. */
export async function inSteps<T>(work: Generator<void, T>): Promise<T> {
  const { pause } = longWork();
  let step = work.next();
  while (!step.done) {
    await pause();
    step = work.next();
  }
  return step.value;
}
