import { createHash } from "node:crypto";
import { folded } from "@tidings/runtime/folded";
import { addressKey } from "./address-key.ts";
import { type Redis, rateLimited, rateLimiter, refusalOf } from "./rate-limit.ts";

export interface LoginThrottle {
  /** Counts an attempt before it is made. Throws RATE_LIMITED while this client has to wait with this user. */
  countAttempt(login: string, clientIp: string): Promise<CountedAttempt>;
}

export interface CountedAttempt {
  /** The client knew the password after all: its attempts before count no more. */
  forgive(): Promise<void>;
  /** Uncounts the attempt: the password could not be checked. */
  giveBack(): Promise<void>;
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
      const counted = {
        forgive: async () => {
          await Promise.all([attempts.delete(key), gate.delete(key)]);
        },
        giveBack: async () => {
          await Promise.all([attempts.reward(key, 1), gate.delete(key)]);
        },
      };
      const further = consumedPoints - FREE_ATTEMPTS;
      if (further < 0) return counted;
      const waitSeconds = Math.min(WAIT_SECONDS_MAX, FIRST_WAIT_SECONDS * 2 ** Math.min(further, 20));
      // One attempt passes the gate and closes it for the wait.
      const refusal = await refusalOf(gate, key, { customDuration: waitSeconds });
      if (refusal)
        throw rateLimited(
          refusal.msBeforeNext,
          `Too many failed attempts. Try again in ${waitText(refusal.msBeforeNext)}.`,
        );
      return counted;
    },
  };
}

function waitText(waitMs: number): string {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000));
  if (seconds < 60) return `${seconds} second${seconds === 1 ? "" : "s"}`;
  const minutes = Math.ceil(seconds / 60);
  return `${minutes} minute${minutes === 1 ? "" : "s"}`;
}

function keyOf(login: string, clientIp: string): string {
  return createHash("sha256")
    .update(`${folded(login)}\n${addressKey(clientIp)}`)
    .digest("base64url");
}
