import type { RateLimiterAbstract } from "rate-limiter-flexible";
import { type Redis, rateLimiter } from "./rate-limit.ts";

export interface ApiRateLimits {
  /** Requests without credentials, by address. */
  anonymous: RateLimiterAbstract;
  /** Requests of one principal; off unless configured, so that a bulk client is not stopped by surprise. */
  principal: RateLimiterAbstract | undefined;
}

const ANONYMOUS_BURST = 60;
const ANONYMOUS_WINDOW_SECONDS = 2;
const HOUR_SECONDS = 3600;

export function apiRateLimits(requestsPerHour: number, redis: Redis | undefined): ApiRateLimits {
  return {
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
