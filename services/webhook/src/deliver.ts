import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import type { Database } from "@tidings/store/database";
import { createWakeUp } from "@tidings/store/wake-up";
import { type AttemptOptions, attempt } from "./attempt.ts";
import {
  claimDeliveries,
  type Delivery,
  LEASE_MS,
  type Outcome,
  recordOutcomes,
  releaseLeases,
  renewLeases,
} from "./delivery.ts";

export interface DeliverOptions extends AttemptOptions {
  database: Database;
  log: Log;
  /** Switches a webhook off whose receiver is gone. */
  unpublish(webhookId: number): Promise<void>;
}

export interface Deliverer {
  /** There are new deliveries. */
  nudge(): void;
  /** Lets attempts in flight end, for a while, and gives the rest back. */
  stop(): Promise<void>;
}

/** What this process has of one webhook. Webhooks never wait for each other: each has its lane. */
interface Lane {
  waiting: Delivery[];
  inFlight: Set<Delivery>;
  isOrdered: boolean;
  /** The latest attempt failed: the receiver is tried with one delivery at a time. */
  isFailing: boolean;
}

/** Deliveries of one webhook that a process has in hand, and how many of them it sends at once. */
const SHARE = 16;
const AT_ONCE = 8;
/** Deliveries that a process has in hand in all: their bodies are in its memory. */
const IN_HAND_MAX = 2_000;
const POLL_MS = 250;
/** What ends or arrives within so short a time is recorded and claimed together. */
const GATHER_MS = 5;
const RENEW_MS = LEASE_MS / 3;
const BACKOFF_MAX_MS = 5_000;
const STOP_LIMIT_MS = 10_000;

/** Attempts due deliveries until stopped. Any number of processes may do so side by side. */
export function startDelivering(options: DeliverOptions): Deliverer {
  const { database, log } = options;
  const wakeUp = createWakeUp();
  const lanes = new Map<number, Lane>();
  const condemned = new Set<number>();
  let outcomes: Outcome[] = [];
  const heldUntil = new WeakMap<Delivery, number>();
  let isStopping = false;
  /** The webhook that was the last to be served. */
  let after = 0;

  const inHand = () =>
    [...lanes.values()].reduce((sum, { waiting, inFlight }) => sum + waiting.length + inFlight.size, 0);
  const hold = (delivery: Delivery, fromMs: number) => heldUntil.set(delivery, fromMs + LEASE_MS);
  const isHeld = (delivery: Delivery) => (heldUntil.get(delivery) ?? 0) > performance.now();

  const send = async (delivery: Delivery, lane: Lane) => {
    lane.inFlight.add(delivery);
    try {
      const outcome = await attempt(delivery, options);
      lane.isFailing = outcome.state !== "delivered";
      outcomes.push(outcome);
    } catch (error) {
      // A bug of ours. The lease runs out and the delivery is tried again.
      log.error({ err: error, delivery: delivery.id }, "delivery could not be attempted");
    }
    lane.inFlight.delete(delivery);
    sendNext(lane);
    wakeUp.nudge();
  };

  const sendNext = (lane: Lane) => {
    while (!isStopping && lane.inFlight.size < atOnce(lane)) {
      const delivery = lane.waiting.shift();
      if (!delivery) return;
      // Whoever slept through a lease has lost it.
      if (isHeld(delivery)) void send(delivery, lane);
    }
  };

  const recordAll = async () => {
    if (outcomes.length === 0) return;
    const ended = outcomes;
    outcomes = [];
    const { recorded, dead } = await recordOutcomes(database, ended).catch((error) => {
      outcomes.unshift(...ended);
      throw error;
    });
    for (const webhookId of dead) condemned.add(webhookId);
    for (const { isGone, delivery } of ended) if (isGone) condemned.add(delivery.webhookId);
    const lost = ended.length - recorded.size;
    if (lost > 0) log.warn({ lost }, "results came after their leases had gone to others");
  };

  /** One that cannot be switched off keeps nobody else from getting deliveries. */
  const unpublishAll = async () => {
    for (const webhookId of condemned) {
      try {
        await options.unpublish(webhookId);
        lanes.delete(webhookId);
        condemned.delete(webhookId);
      } catch (error) {
        if (!isOutage(error)) condemned.delete(webhookId);
        log.error({ err: error, webhook: webhookId }, "webhook could not be unpublished");
      }
    }
  };

  const claimMore = async () => {
    const shares = new Map([...lanes].map(([webhookId, lane]) => [webhookId, freeShare(lane)]));
    const fromMs = performance.now();
    const limit = IN_HAND_MAX - inHand();
    if (limit <= 0) return;
    for (const delivery of await claimDeliveries(database, { shares, size: SHARE, after, limit })) {
      hold(delivery, fromMs);
      after = delivery.webhookId;
      const lane = lanes.get(delivery.webhookId) ?? newLane();
      lanes.set(delivery.webhookId, lane);
      lane.isOrdered = delivery.isOrdered;
      lane.isFailing = delivery.isFailing;
      lane.waiting.push(delivery);
    }
    for (const [webhookId, lane] of lanes) {
      sendNext(lane);
      if (isIdle(lane)) lanes.delete(webhookId);
    }
  };

  const renewAll = async () => {
    const held = [...lanes.values()].flatMap(({ waiting, inFlight }) => [...waiting, ...inFlight]);
    if (held.length === 0) return;
    const fromMs = performance.now();
    const ours = await renewLeases(database, held);
    for (const delivery of held) if (ours.has(delivery.id)) hold(delivery, fromMs);
    for (const lane of lanes.values()) lane.waiting = lane.waiting.filter(({ id }) => ours.has(id));
  };

  const run = async () => {
    let failures = 0;
    let renewAt = 0;
    while (!isStopping) {
      try {
        await recordAll();
        await unpublishAll();
        await claimMore();
        if (performance.now() > renewAt) {
          renewAt = performance.now() + RENEW_MS;
          await renewAll();
        }
        failures = 0;
        await wakeUp.sleep(POLL_MS);
        await wakeUp.rest(GATHER_MS);
      } catch (error) {
        failures += 1;
        log.warn({ err: error, failures }, "deliveries could not be claimed or recorded, trying again");
        await wakeUp.rest(Math.random() * Math.min(BACKOFF_MAX_MS, 100 * 2 ** failures));
      }
    }
  };
  const running = run();

  return {
    nudge: () => wakeUp.nudge(),
    async stop() {
      isStopping = true;
      wakeUp.force();
      await running;
      const all = [...lanes.values()];
      await releaseLeases(
        database,
        all.flatMap(({ waiting }) => waiting),
      );
      const limitAt = performance.now() + STOP_LIMIT_MS;
      while (all.some(({ inFlight }) => inFlight.size > 0) && performance.now() < limitAt) {
        await wakeUp.sleep(limitAt - performance.now());
      }
      await recordAll();
    },
  };
}

function newLane(): Lane {
  return { waiting: [], inFlight: new Set(), isOrdered: false, isFailing: false };
}

function atOnce({ isOrdered, isFailing }: Lane): number {
  return isOrdered || isFailing ? 1 : AT_ONCE;
}

function freeShare(lane: Lane): number {
  const share = lane.isFailing || lane.isOrdered ? 1 : SHARE;
  return Math.max(0, share - lane.waiting.length - lane.inFlight.size);
}

function isIdle({ waiting, inFlight }: Lane): boolean {
  return waiting.length === 0 && inFlight.size === 0;
}
