export interface WakeUp {
  /** There may be work. Not lost when nobody sleeps: the next sleep is skipped. */
  nudge(): void;
  /** Would the next sleep be skipped? */
  isNudged(): boolean;
  /** Ends any sleep or rest, or skips the next one. */
  force(): void;
  /** Until the time is over or a nudge: was it one? */
  sleep(durationMs: number): Promise<boolean>;
  /** Until the time is over; nudges do not count. */
  rest(durationMs: number): Promise<void>;
}

/** How a loop waits for work: it polls, and a caller that knows of work wakes it early. */
export function createWakeUp(): WakeUp {
  let isNudged = false;
  let isForced = false;
  let isResting = false;
  let wake: () => void = () => undefined;

  const wait = (durationMs: number) =>
    new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, durationMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });

  return {
    nudge() {
      isNudged = true;
      if (!isResting) wake();
    },
    isNudged: () => isNudged || isForced,
    force() {
      isForced = true;
      wake();
    },
    async sleep(durationMs) {
      if (!isNudged && !isForced) await wait(durationMs);
      const wasNudged = isNudged;
      isNudged = false;
      isForced = false;
      return wasNudged;
    },
    async rest(durationMs) {
      isResting = true;
      if (!isForced) await wait(durationMs);
      isResting = false;
      isForced = false;
    },
  };
}
