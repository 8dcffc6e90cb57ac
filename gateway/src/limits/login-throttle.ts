import { createHash } from "node:crypto";
import { type Redis, rateLimited, rateLimiter } from "./rate-limit.ts";

export interface LoginThrottle {
  /** Throws RATE_LIMITED while this client has to wait before it tries this user again. */
  check(login: string, clientIp: string): Promise<void>;
  recordFailure(login: string, clientIp: string): Promise<void>;
  recordSuccess(login: string, clientIp: string): Promise<void>;
}

const FREE_FAILURES = 5;
const FIRST_WAIT_SECONDS = 2;
const WAIT_SECONDS_MAX = 15 * 60;
const MEMORY_SECONDS = 24 * 3600;

/**
 * After five failures of one client with one user every further one doubles the wait, up to 15 minutes. The user is
 * never locked out: the same name from elsewhere is not affected.
 */
export function loginThrottle(redis: Redis | undefined): LoginThrottle {
  const failures = rateLimiter({
    name: "login-failures",
    points: 1_000_000,
    windowSeconds: MEMORY_SECONDS,
    redis,
  });
  const waits = rateLimiter({ name: "login-wait", points: 1, windowSeconds: WAIT_SECONDS_MAX, redis });
  return {
    async check(login, clientIp) {
      const wait = await waits.get(keyOf(login, clientIp));
      if (wait && wait.consumedPoints > 0 && wait.msBeforeNext > 0) {
        throw rateLimited(wait.msBeforeNext, "Too many failed sign-ins. Please wait before you try again.");
      }
    },
    async recordFailure(login, clientIp) {
      const key = keyOf(login, clientIp);
      const { consumedPoints } = await failures.penalty(key, 1);
      const further = consumedPoints - FREE_FAILURES;
      if (further < 0) return;
      await waits.set(key, 1, Math.min(WAIT_SECONDS_MAX, FIRST_WAIT_SECONDS * 2 ** Math.min(further, 20)));
    },
    async recordSuccess(login, clientIp) {
      await failures.delete(keyOf(login, clientIp));
    },
  };
}

function keyOf(login: string, clientIp: string): string {
  return createHash("sha256").update(`${login.toLowerCase()}\n${clientIp}`).digest("base64url");
}
