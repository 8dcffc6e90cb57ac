import type { RateLimiterAbstract } from "rate-limiter-flexible";
import { type Redis, rateLimiter } from "./rate-limit.ts";

export interface ApiRateLimits {
  /** Requests without credentials, by address. */
  anonymous: RateLimiterAbstract;
  /** Requests of one principal; off unless configured, so that a bulk client is not stopped by surprise. */
  principal: RateLimiterAbstract | undefined;
  /** Idempotency keys of one principal: each keeps an answer for a day. */
  keys: RateLimiterAbstract;
}

const ANONYMOUS_BURST = 60;
const ANONYMOUS_WINDOW_SECONDS = 2;
const HOUR_SECONDS = 3600;
const MINUTE_SECONDS = 60;

export interface ApiRates {
  /** 0 is no limit. */
  requestsPerHour: number;
  keysPerMinute: number;
}

export function apiRateLimits(
  { requestsPerHour, keysPerMinute }: ApiRates,
  redis: Redis | undefined,
): ApiRateLimits {
  return {
    keys: rateLimiter({ name: "keys", points: keysPerMinute, windowSeconds: MINUTE_SECONDS, redis }),
    anonymous: rateLimiter({
      name: "anonymous",
      points: ANONYMOUS_BURST,
      windowSeconds: ANONYMOUS_WINDOW_SECONDS,
      redis,
    }),
    principal:
      requestsPerHour > 0
        ? rateLimiter({ name: "principal", points: requestsPerHour, windowSeconds: HOUR_SECONDS, redis })
        : undefined,
  };
}
