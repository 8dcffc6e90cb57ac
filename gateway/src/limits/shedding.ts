import { monitorEventLoopDelay } from "node:perf_hooks";
import { exhausted } from "@tidings/rpc/fault";

/** The first ones are refused first. */
export type Rank = "hit" | "read" | "write";

export interface Shedding {
  /** Counts a request in, or refuses it when there is too much to do already. */
  admit(rank: Rank): void;
  leave(): void;
  stop(): void;
}

const DELAY_MAX_MS = 150;
const LOOK_EVERY_MS = 500;
const NANOSECONDS_PER_MS = 1_000_000;
/** Shares of the requests that may be in flight. */
const SHARES: Record<Rank, number> = { hit: 0.5, read: 1, write: 2 };
/** The same of reads while the event loop is late. */
const SLOW = 0.25;

/** Under too much load requests are refused at once instead of all getting slow: hits first, then reads, writes last. */
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
    admit(rank) {
      watch();
      const max = inFlightMax * SHARES[rank] * (isSlow && rank !== "write" ? SLOW : 1);
      if (inFlight >= max) throw exhausted("The service is busy.");
      inFlight += 1;
    },
    leave() {
      inFlight -= 1;
    },
    stop: rest,
  };
}
