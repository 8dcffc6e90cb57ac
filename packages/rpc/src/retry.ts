import { setTimeout as pause } from "node:timers/promises";
import { Code, Fault } from "./fault.ts";

export interface RetryBudget {
  /** Runs a read. When nobody answers it is tried up to twice more, as long as the budget lasts. */
  run<T>(read: () => Promise<T>): Promise<T>;
}

const RETRIES_MAX = 2;
const FIRST_BACKOFF_MS = 25;
const BACKOFF_MAX_MS = 250;
const TOKENS_MAX = 100;
/** One retry is paid for by ten calls that were answered. */
const TOKENS_PER_SUCCESS = 0.1;

/**
 * Retries with full jitter and a budget shared by all calls of a client (retry throttling of gRPC proposal A6): when a
 * service is down for everybody, retries do not add to its load. The transport's own retries cost every call a tenth of
 * its time; these cost only the calls that fail.
 */
export function retryBudget(): RetryBudget {
  let tokens = TOKENS_MAX;
  return {
    async run(read) {
      for (let retries = 0; ; retries += 1) {
        try {
          const result = await read();
          tokens = Math.min(TOKENS_MAX, tokens + TOKENS_PER_SUCCESS);
          return result;
        } catch (error) {
          const isUnanswered = error instanceof Fault && error.code === Code.UNAVAILABLE;
          if (!isUnanswered || retries === RETRIES_MAX || tokens < TOKENS_MAX / 2) throw error;
          tokens -= 1;
          await pause(Math.random() * Math.min(BACKOFF_MAX_MS, FIRST_BACKOFF_MS * 3 ** retries));
        }
      }
    },
  };
}
