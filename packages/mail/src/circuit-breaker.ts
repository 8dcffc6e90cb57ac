/** Whether a process uses a server, by what its attempts found. Times are milliseconds of a monotonic clock. */
export interface CircuitBreaker {
  /** True once the server failed three times in a row. */
  readonly isOpen: boolean;
  /** True for one caller when the probe of an open breaker is due. That caller says how the probe ended. */
  takeProbe(nowMs: number): boolean;
  succeeded(): void;
  failed(nowMs: number, isProbe: boolean): void;
}

const FAILURES_MAX = 3;
const PROBE_MIN_MS = 15_000;
const PROBE_MAX_MS = 300_000;

/** A circuit breaker (Nygard, "Release It!", 2007). A probe goes 15 s after it opened; each probe that fails doubles the wait, up to 5 minutes. */
export function circuitBreaker(): CircuitBreaker {
  let failures = 0;
  let waitMs = PROBE_MIN_MS;
  let probeAtMs = 0;
  let isProbing = false;
  const isOpen = () => failures >= FAILURES_MAX;
  return {
    get isOpen() {
      return isOpen();
    },
    takeProbe(nowMs) {
      if (!isOpen() || isProbing || nowMs < probeAtMs) return false;
      isProbing = true;
      return true;
    },
    succeeded() {
      failures = 0;
      waitMs = PROBE_MIN_MS;
      isProbing = false;
    },
    failed(nowMs, isProbe) {
      failures += 1;
      if (isProbe) {
        isProbing = false;
        waitMs = Math.min(PROBE_MAX_MS, waitMs * 2);
      }
      // Attempts that began before the breaker opened say nothing about when the next probe is due.
      if (isProbe || failures === FAILURES_MAX) probeAtMs = nowMs + waitMs;
    },
  };
}
