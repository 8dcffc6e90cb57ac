import { setImmediate as nextTurn } from "node:timers/promises";

/** How long the event loop may be held before others have it. */
const HELD_MAX_MS = 10;

/** When the turn of the event loop began, as far as long work has asked in it. All long work of a turn has these 10 ms together. */
let turnBeganAt: number | undefined;

function isHeld(): boolean {
  if (turnBeganAt === undefined) {
    turnBeganAt = performance.now();
    setImmediate(() => {
      turnBeganAt = undefined;
    });
  }
  return performance.now() - turnBeganAt >= HELD_MAX_MS;
}

/** For a loop over many items: `pause()` between them lets other work have the event loop when it has been held for 10 ms. */
export function longWork(): { pause(): Promise<void> | undefined } {
  return { pause: () => (isHeld() ? untilFree() : undefined) };
}

/** Works that wait for the same turn have it one after the other, until its time is over. */
async function untilFree(): Promise<void> {
  do await nextTurn();
  while (isHeld());
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
    const pausing = pause();
    if (pausing) await pausing;
    step = work.next();
  }
  return step.value;
}
