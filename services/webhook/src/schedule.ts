/** Seconds before each of twelve attempts: the first at once, the last after three days. */
export const DEFAULT_SCHEDULE = [0, 5, 30, 120, 600, 1_800, 3_600, 10_800, 21_600, 43_200, 86_400, 86_400];

const JITTER = 0.2;
const RETRY_AFTER_MAX_SECONDS = 86_400;

/**
 * Seconds until the next attempt after `attempts` failed ones, undefined when there is none left. Spread by a fifth, so
 * that what failed together does not come back together; never sooner than the receiver asked for.
 */
export function nextDelay(
  schedule: number[],
  attempts: number,
  retryAfterSeconds: number,
): number | undefined {
  const step = schedule[attempts];
  if (step === undefined) return undefined;
  const spread = step * (1 + JITTER * (2 * Math.random() - 1));
  return Math.max(spread, Math.min(retryAfterSeconds, RETRY_AFTER_MAX_SECONDS));
}

/** Seconds that a Retry-After header asks for: a number or a date (RFC 9110, 10.2.3); 0 when it asks for nothing. */
export function parseRetryAfter(value: string | undefined, nowMs: number): number {
  if (!value) return 0;
  if (/^\d+$/.test(value)) return Number(value);
  const dateMs = Date.parse(value);
  return Number.isNaN(dateMs) ? 0 : Math.max(0, (dateMs - nowMs) / 1000);
}
