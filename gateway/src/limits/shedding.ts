import { monitorEventLoopDelay } from "node:perf_hooks";
import { exhausted } from "@tidings/rpc/fault";

export interface Shedding {
  /** Counts a request in, or refuses it when there is too much to do already. */
  admit(isRead: boolean): void;
  leave(): void;
  stop(): void;
}

const DELAY_MAX_MS = 150;
const LOOK_EVERY_MS = 500;
const NANOSECONDS_PER_MS = 1_000_000;

/** Under too much load requests are refused at once instead of all getting slow: reads first, writes last. */
export function loadShedding(inFlightMax: number): Shedding {
  const delay = monitorEventLoopDelay({ resolution: 20 });
  let isSlow = false;
  let isAsked = false;
  let look: NodeJS.Timeout | undefined;
  /** Measures while requests come, and not when nobody does anything. */
  const watch = () => {
    isAsked = true;
    if (look) return;
    delay.enable();
    look = setInterval(() => {
      isSlow = delay.percentile(99) / NANOSECONDS_PER_MS > DELAY_MAX_MS;
      delay.reset();
      if (!isAsked && inFlight === 0) rest();
      isAsked = false;
    }, LOOK_EVERY_MS).unref();
  };
  const rest = () => {
    clearInterval(look);
    look = undefined;
    delay.disable();
    isSlow = false;
  };
  let inFlight = 0;
  return {
    admit(isRead) {
      watch();
      const max = isRead ? (isSlow ? inFlightMax / 4 : inFlightMax) : inFlightMax * 2;
      if (inFlight >= max) throw exhausted("The service is busy.");
      inFlight += 1;
    },
    leave() {
      inFlight -= 1;
    },
    stop: rest,
  };
}
