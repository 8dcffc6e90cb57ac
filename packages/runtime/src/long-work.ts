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
