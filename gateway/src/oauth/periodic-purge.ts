import type { Log } from "@tidings/runtime/log";
import type { Database } from "@tidings/store/database";
import { purgeExpired } from "./purge.ts";

const PERIOD_MS = 10 * 60_000;

/** Purges every ten minutes until it is stopped. Several gateways may do so at once: a row can be deleted only once. */
export function startPurging(database: Database, log: Log): { stop(): Promise<void> } {
  let running = Promise.resolve();
  const timer = setInterval(() => {
    running = running
      .then(() => purgeExpired(database))
      .catch((error) => log.warn({ err: error }, "expired tokens could not be purged"));
  }, PERIOD_MS).unref();
  return {
    stop() {
      clearInterval(timer);
      return running;
    },
  };
}
