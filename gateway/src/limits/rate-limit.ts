import type { ServerResponse } from "node:http";
import { Code, Fault } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import {
  type RateLimiterAbstract,
  RateLimiterMemory,
  RateLimiterRedis,
  RateLimiterRes,
  RLWrapperTimeouts,
} from "rate-limiter-flexible";

export type Redis = Awaited<ReturnType<typeof connectRedis>>;

/**
 * A connection that may come and go: a limit that cannot ask Redis counts in memory until it can again. The client is
 * loaded here: who has no Redis has no need of its 30 MB.
 */
export async function connectRedis(url: string, log: Log) {
  const { createClient } = await import("redis");
  const redis = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: 2_000 },
  });
  redis.on("error", (error) => log.warn({ err: error }, "redis is not reachable"));
  redis.connect().catch((error) => log.warn({ err: error }, "redis is not reachable"));
  return redis;
}

const REDIS_TIMEOUT_MS = 200;

export interface LimitOptions {
  name: string;
  points: number;
  windowSeconds: number;
  redis: Redis | undefined;
}

export function rateLimiter({ name, points, windowSeconds, redis }: LimitOptions): RateLimiterAbstract {
  const options = { keyPrefix: `limit:${name}`, points, duration: windowSeconds };
  const memory = new RateLimiterMemory(options);
  if (!redis) return memory;
  const limiter = new RateLimiterRedis({
    ...options,
    storeClient: redis,
    useRedisPackage: true,
    insuranceLimiter: memory,
    rejectIfRedisNotReady: true,
  });
  // A Redis that takes a command and does not answer must not hold the request. The wrapper forgets what it wraps.
  const impatient = new RLWrapperTimeouts({ limiter, timeoutMs: REDIS_TIMEOUT_MS });
  return Object.assign(impatient, { points, duration: windowSeconds });
}

/**
 * Takes one from a limit and says in `RateLimit` and `RateLimit-Policy` what is left of it (IETF draft
 * httpapi-ratelimit-headers), and in the older `X-RateLimit-*`, whose Reset is a time in epoch seconds. Throws RATE_LIMITED when nothing is.
 */
export async function consume(
  limiter: RateLimiterAbstract,
  key: string,
  response: ServerResponse,
): Promise<void> {
  try {
    describe(limiter, await limiter.consume(key), response);
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    describe(limiter, refusal, response);
    throw rateLimited(refusal.msBeforeNext, `You exceeded the rate limit of ${limiter.points} API calls.`);
  }
}

/** Takes one from a limit. Answers when there is more of it, if nothing is left. */
export async function refusalOf(
  limiter: RateLimiterAbstract,
  key: string,
  options?: { customDuration: number },
): Promise<RateLimiterRes | undefined> {
  try {
    await limiter.consume(key, 1, options);
    return undefined;
  } catch (refusal) {
    if (!(refusal instanceof RateLimiterRes)) throw refusal;
    return refusal;
  }
}

export function rateLimited(waitMs: number, message: string): Fault {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000));
  return new Fault({ code: Code.RESOURCE_EXHAUSTED, reason: "RATE_LIMITED", message, retryAfterSeconds });
}

function describe(limiter: RateLimiterAbstract, state: RateLimiterRes, response: ServerResponse): void {
  response.setHeader("ratelimit-policy", `"default";q=${limiter.points};w=${limiter.duration}`);
  const remaining = Math.max(0, state.remainingPoints);
  response.setHeader("ratelimit", `"default";r=${remaining};t=${Math.ceil(state.msBeforeNext / 1000)}`);
  response.setHeader("x-ratelimit-limit", limiter.points);
  response.setHeader("x-ratelimit-remaining", remaining);
  response.setHeader("x-ratelimit-reset", Math.ceil((Date.now() + state.msBeforeNext) / 1000));
}
