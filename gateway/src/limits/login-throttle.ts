import { createHash } from "node:crypto";
import { RateLimiterRes } from "rate-limiter-flexible";
import { type Redis, rateLimited, rateLimiter } from "./rate-limit.ts";

export interface LoginThrottle {
  /** Counts an attempt before it is made. Throws RATE_LIMITED while this client has to wait with this user. */
  countAttempt(login: string, clientIp: string): Promise<void>;
  /** The client knew the password after all. */
  forgetAttempts(login: string, clientIp: string): Promise<void>;
}

const FREE_ATTEMPTS = 5;
const FIRST_WAIT_SECONDS = 2;
const WAIT_SECONDS_MAX = 15 * 60;
const MEMORY_SECONDS = 30 * 60;

/**
 * From the fifth attempt of one client with one user on, each closes the gate behind it, and each that is made doubles
 * the wait: 2 seconds up to 15 minutes. The user is never locked out: the same name from elsewhere is not affected.
 */
export function loginThrottle(redis: Redis | undefined): LoginThrottle {
  const attempts = rateLimiter({
    name: "login-attempts",
    points: 1_000_000,
    windowSeconds: MEMORY_SECONDS,
    redis,
  });
  const gate = rateLimiter({ name: "login-gate", points: 1, windowSeconds: WAIT_SECONDS_MAX, redis });
  return {
    async countAttempt(login, clientIp) {
      const key = keyOf(login, clientIp);
      const { consumedPoints } = await attempts.penalty(key, 1);
      const further = consumedPoints - FREE_ATTEMPTS;
      if (further < 0) return;
      const waitSeconds = Math.min(WAIT_SECONDS_MAX, FIRST_WAIT_SECONDS * 2 ** Math.min(further, 20));
      // One attempt passes the gate and closes it for the wait.
      await gate.consume(key, 1, { customDuration: waitSeconds }).catch((refusal) => {
        if (!(refusal instanceof RateLimiterRes)) throw refusal;
        throw rateLimited(
          refusal.msBeforeNext,
          "Too many failed sign-ins. Please wait before you try again.",
        );
      });
    },
    async forgetAttempts(login, clientIp) {
      const key = keyOf(login, clientIp);
      await Promise.all([attempts.delete(key), gate.delete(key)]);
    },
  };
}

function keyOf(login: string, clientIp: string): string {
  return createHash("sha256").update(`${login.toLowerCase()}\n${clientIp}`).digest("base64url");
}
