import type { Database } from "@tidings/database/database";
import { startWork, type Worker } from "@tidings/jobs/work";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { addSource } from "@tidings/runtime/scrape";
import { atEachTick } from "@tidings/runtime/tick";
import { type AttemptOptions, attempt } from "./attempt.ts";
import { deliveriesSource } from "./backlog.ts";
import { giveDeferred } from "./deferral.ts";
import { type Delivery, deliveryQueue, type Outcome, recordOutcomes } from "./delivery.ts";
import { noteAttempt } from "./delivery-metrics.ts";

export interface DeliverOptions extends AttemptOptions {
  database: Database;
  log: Log;
  /** Switches a webhook off whose receiver is gone. */
  unpublish(webhookId: number): Promise<void>;
}

/** For deliveries that its replicas have planned. */
const POLL_MS = 5_000;
/** Deliveries of one webhook that a process holds, and how many of them it sends at once. */
const SHARE = 16;
const AT_ONCE = 8;
/** Deliveries that a process holds in all: their bodies are in its memory. */
const IN_FLIGHT_MAX = 2_000;

/** Attempts due deliveries until stopped. Any number of processes may do so side by side. */
export function startDelivering(options: DeliverOptions): Worker {
  const { database, log } = options;
  const condemned = new Set<number>();
  /** Webhooks with deliveries that ended: a deferred one may be given more. */
  const ended = new Set<number>();

  const giveMore = async () => {
    if (ended.size === 0) return;
    const webhookIds = [...ended];
    ended.clear();
    if (await giveDeferred(database, webhookIds)) worker.nudge();
  };

  const worker = startWork<Delivery, Outcome>({
    database,
    log,
    name: "delivery",
    queue: deliveryQueue,
    attempt: (delivery) => attempt(delivery, options),
    isFailure: ({ state }) => state !== "delivered",
    async record(results) {
      const outcomes = results.map(({ outcome }) => outcome);
      const { recorded, dead } = await recordOutcomes(database, outcomes);
      outcomes.forEach(noteAttempt);
      for (const webhookId of dead) condemned.add(webhookId);
      for (const { state, delivery } of outcomes) if (state !== "waiting") ended.add(delivery.group);
      for (const { isGone, delivery } of outcomes) if (isGone) condemned.add(delivery.group);
      return recorded;
    },
    async afterRecord() {
      await unpublishAll(condemned, worker, options);
      await giveMore();
    },
    pollMs: POLL_MS,
    share: SHARE,
    atOnce: AT_ONCE,
    inFlightMax: IN_FLIGHT_MAX,
  });
  // A process may have died between recording a result and giving its webhook more deliveries.
  const sweep = atEachTick(POLL_MS, () =>
    giveDeferred(database).then(
      (isGiven) => isGiven && worker.nudge(),
      (error) => log.warn({ err: error }, "deferred deliveries could not be made"),
    ),
  );
  const unwatch = addSource(deliveriesSource(database));
  return {
    ...worker,
    async stop() {
      unwatch();
      await Promise.all([sweep.stop(), worker.stop()]);
    },
  };
}

/** A webhook that cannot be switched off keeps no other one from getting deliveries. */
async function unpublishAll(
  condemned: Set<number>,
  worker: Worker,
  { unpublish, log }: DeliverOptions,
): Promise<void> {
  for (const webhookId of condemned) {
    try {
      await unpublish(webhookId);
      worker.drop(webhookId);
      condemned.delete(webhookId);
    } catch (error) {
      if (!isOutage(error)) condemned.delete(webhookId);
      log.error({ err: error, webhook: webhookId }, "webhook could not be unpublished");
    }
  }
}
