import { setTimeout as pause } from "node:timers/promises";
import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { LEASE_MS } from "./queue.ts";

const RETRY_MS = 250;

/**
 * Tries again while the database is away or too slow, for as long as a lease holds. For statements without which an outcome that this process
 * knows would become `unknown`. A statement may have been committed although it failed, so it has to be harmless a second time.
 */
export async function throughOutages<T>(work: () => Promise<T>): Promise<T> {
  const untilMs = performance.now() + LEASE_MS;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const mayPass = isOutage(error) || toFault(error).code === Code.DEADLINE_EXCEEDED;
      if (!mayPass || performance.now() > untilMs) throw error;
      await pause(RETRY_MS);
    }
  }
}
