import { setTimeout as pause } from "node:timers/promises";
import { Code, Fault, UNREACHED } from "./fault.ts";

export interface RetryBudget {
  /** Runs a call. One that may be repeated is tried up to twice more, as long as the budget lasts. */
  run<T>(call: () => Promise<T>, mayRepeat: (fault: Fault) => boolean): Promise<T>;
}

/** The call got no answer: a call without side effects may be repeated. */
export function isUnanswered({ code }: Fault): boolean {
  return code === Code.UNAVAILABLE;
}

/** The call reached no server: any call may be repeated. */
export function isUnreached({ reason }: Fault): boolean {
  return reason === UNREACHED;
}

const RETRIES_MAX = 2;
const FIRST_BACKOFF_MS = 25;
const BACKOFF_MAX_MS = 250;
const TOKENS_MAX = 100;
/** One retry is paid for by ten calls that were answered. */
const TOKENS_PER_SUCCESS = 0.1;

/**
 * Retries with full jitter and a budget shared by all calls of a client (retry throttling of gRPC proposal A6): when a
 * service is down for everybody, retries do not add to its load.
 */
export function retryBudget(): RetryBudget {
  let tokens = TOKENS_MAX;
  return {
    async run(call, mayRepeat) {
      for (let retries = 0; ; retries += 1) {
        try {
          const result = await call();
          tokens = Math.min(TOKENS_MAX, tokens + TOKENS_PER_SUCCESS);
          return result;
        } catch (error) {
          if (!(error instanceof Fault) || !mayRepeat(error) || retries === RETRIES_MAX) throw error;
          if (tokens < TOKENS_MAX / 2) throw error;
          tokens -= 1;
          await pause(Math.random() * Math.min(BACKOFF_MAX_MS, FIRST_BACKOFF_MS * 3 ** retries));
        }
      }
    },
  };
}
