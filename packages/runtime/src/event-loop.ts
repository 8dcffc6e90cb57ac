import { Counter, Histogram } from "prom-client";

const TICK_MS = 100;
/** After so long without a scrape the measurement is switched off. */
const UNWATCHED_MS = 120_000;

const delay = new Histogram({
  name: "tidings_event_loop_delay_seconds",
  help: "By how much a timer of 100 ms was late: how long the event loop did something else. Measured while somebody scrapes",
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
});
/** The rate of it is the share of the time in which the process could not have done more. */
new Counter({
  name: "tidings_event_loop_busy_seconds_total",
  help: "Time in which the event loop had something to do",
  collect() {
    this.reset();
    this.inc(performance.eventLoopUtilization().active / 1_000);
  },
});

let ticking: NodeJS.Timeout | undefined;
let watchedAt = 0;
let tickedAt = 0;

/** Measures the delay of the event loop from now on, until nobody has asked for it for two minutes: an idle process has no timer. */
export function watchEventLoop(): void {
  watchedAt = performance.now();
  if (ticking) return;
  tickedAt = watchedAt;
  ticking = setInterval(tick, TICK_MS).unref();
}

function tick(): void {
  const now = performance.now();
  delay.observe(Math.max(0, now - tickedAt - TICK_MS) / 1_000);
  tickedAt = now;
  if (now - watchedAt < UNWATCHED_MS) return;
  clearInterval(ticking);
  ticking = undefined;
}
