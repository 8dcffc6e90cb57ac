import { setTimeout as pause } from "node:timers/promises";
import type { ConsumerMessages, JsMsg } from "@nats-io/jetstream";
import type { Subscription } from "@nats-io/transport-node";
import { type Bus, BusUnavailable } from "./connect.ts";
import { type BatchOptions, handleBatch } from "./handle-batch.ts";
import { eventsIn } from "./payload/pack.ts";
import { sleep } from "./sleep.ts";
import { ACK_WAIT_MS, durableKey, ensureDurable, type StreamIdentity, streamToRead } from "./streams.ts";

export interface ConsumeOptions extends BatchOptions {
  /** May this stream be read, as it is now? It is asked again in a moment. */
  isReadable(stream: StreamIdentity): Promise<boolean>;
}

export interface Consumption {
  /** Resolves once the durable is as this process defines it, or consumption ends before that. */
  opened: Promise<void>;
  /** Leaves what is not handled to other replicas, and begins anew: `isReadable` is asked again. */
  restart(): void;
  /** Finishes the batch in flight; the rest is left to other replicas. */
  stop(): Promise<void>;
}

const BATCH_MAX = 100;
/** Many more than are pulled: acknowledgements that a crash of the server took along count until ack_wait is over. */
const IN_FLIGHT_MAX = 20 * BATCH_MAX;
const WORKING_INTERVAL_MS = ACK_WAIT_MS / 3;
const PULL_EXPIRES_MS = 30_000;
/**
 * Two missing heartbeats mean that the server forgot what it was asked, as it may when it has just started, or that a stream is
 * lost. One that is deleted says so. A heartbeat costs about a millisecond of CPU in each process, for each of its durables.
 */
const HEARTBEAT_MS = 3_000;
const RESTART_MS = 500;
/** To wait for so many restarts is nothing that belongs to a start. */
const WAITS_TOLD = 10;
/** A connection that is away does not hold up the end. */
const DRAIN_LIMIT_MS = 1_000;
const GATHER_MS = 5;

/**
 * Consumes a durable until stopped, through lost connections, deleted streams and failing handlers. A batch is what has
 * arrived when the one before is done, a hundred events and the rest of their pack. When a batch fails, its halves are
 * tried, so that a single bad event does not hold up the others; that one is delivered again later and given up after 10
 * attempts. Throws when the process did not declare the durable: it would have no rights to it.
 */
export function consume(bus: Bus, options: ConsumeOptions): Consumption {
  const key = durableKey(options.durable);
  if (bus.durables?.includes(key) === false) throw new Error(`${key} is not declared by this process`);
  const stopping = new AbortController();
  const { signal } = stopping;
  const opened = Promise.withResolvers<void>();
  let round = new AbortController();
  const nextRound = () => {
    round = new AbortController();
    return AbortSignal.any([signal, round.signal]);
  };
  const running = consumeForEver(bus, options, { signal, nextRound, onOpened: opened.resolve });
  void running.then(opened.resolve);
  return {
    opened: opened.promise,
    restart: () => round.abort(),
    stop() {
      stopping.abort();
      return running;
    },
  };
}

interface Course {
  /** Aborted at the end. */
  signal: AbortSignal;
  /** Aborted at the end, too, and where consumption is to begin anew. */
  nextRound(): AbortSignal;
  onOpened(): void;
}

async function consumeForEver(
  bus: Bus,
  options: ConsumeOptions,
  { signal, nextRound, onOpened }: Course,
): Promise<void> {
  let messages: ConsumerMessages | undefined;
  let waits = 0;
  bus.onConnected(() => messages?.stop());
  while (!signal.aborted) {
    try {
      await consumeOnce(bus, options, nextRound(), (opened) => {
        messages = opened;
        waits = 0;
        onOpened();
        // A loss that the status does not report is noticed by missing heartbeats.
        restartWithout(opened).catch(() => undefined);
      });
    } catch (error) {
      const durable = options.durable.name;
      if (!(error instanceof BusUnavailable))
        bus.log.warn({ err: error, durable }, "consuming failed, starting again");
      else {
        waits += 1;
        if (waits === WAITS_TOLD)
          bus.log.warn({ durable, reason: error.message }, "nothing can be consumed yet");
      }
    }
    await sleep(RESTART_MS * (0.5 + Math.random()), signal);
  }
}

/** No server serves the stream, or the server has forgotten the pull request. */
const LOST = new Set(["no_responders", "heartbeats_missed"]);

/**
 * A server that has just started knows nothing of streams for a moment. The library asks it once, and again half a minute
 * later: consuming begins anew instead, as it does after each connection.
 */
async function restartWithout(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) if (LOST.has(type)) messages.stop();
}

/** Consumes until stopped, until the connection is another one, or until the stream or the durable is gone. */
async function consumeOnce(
  bus: Bus,
  options: ConsumeOptions,
  signal: AbortSignal,
  onOpened: (messages: ConsumerMessages) => void,
): Promise<void> {
  const { durable } = options;
  const stream = await streamToRead(bus, durable.stream);
  if (!(await options.isReadable(stream)))
    throw new BusUnavailable(`${stream.name} is not for this process to read now`);
  await ensureDurable(bus, durable, IN_FLIGHT_MAX);
  const consumer = await bus.client().jetstream.consumers.get(durable.stream.name, durable.name);
  const arrived: JsMsg[] = [];
  let wake: () => void = () => undefined;
  const messages = await consumer.consume({
    max_messages: BATCH_MAX,
    expires: PULL_EXPIRES_MS,
    idle_heartbeat: HEARTBEAT_MS,
    abort_on_missing_resource: true,
    callback: (message) => {
      arrived.push(message);
      wake();
    },
  });
  onOpened(messages);
  const end = followEnd(messages, () => wake());
  const onStop = () => wake();
  signal.addEventListener("abort", onStop, { once: true });

  let batch: JsMsg[] = [];
  const keepAlive = setInterval(() => {
    for (const message of [...batch, ...arrived]) message.working();
  }, WORKING_INTERVAL_MS);
  try {
    while (!signal.aborted && !end.isReached()) {
      batch = takeBatch(arrived).sort((one, other) => one.seq - other.seq);
      if (batch.length > 0) await handleBatch(bus, batch, options, signal);
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        // Messages that were published together arrive together.
        if (!signal.aborted && !end.isReached()) await sleep(GATHER_MS, signal);
      }
    }
  } finally {
    clearInterval(keepAlive);
    signal.removeEventListener("abort", onStop);
    await takeLast(messages);
    messages.stop();
    for (const message of arrived) message.nak();
  }
  await end.promise;
}

/** Messages of a hundred events, or the few more that come in a pack. */
function takeBatch(arrived: JsMsg[]): JsMsg[] {
  let [messages, events] = [0, 0];
  for (; messages < arrived.length && events < BATCH_MAX; messages += 1)
    events += eventsIn(arrived[messages] as JsMsg);
  return arrived.splice(0, messages);
}

/**
 * Takes in what the server has sent already, to give it back: else it waits there until its time to be acknowledged is over.
 * The library ends its subscription at once and offers no other way, so this reaches for the subscription itself.
 */
async function takeLast(messages: ConsumerMessages): Promise<void> {
  const { sub } = messages as unknown as { sub?: Subscription };
  if (sub?.isClosed() ?? true) return;
  await Promise.race([sub?.drain().catch(() => undefined), pause(DRAIN_LIMIT_MS, undefined, { ref: false })]);
}

/** Resolves when no more messages will come; rejects with the reason when it is not that we stopped. */
function followEnd(messages: ConsumerMessages, onEnd: () => void) {
  let reached = false;
  const promise = messages.closed().then((reason) => {
    reached = true;
    onEnd();
    if (reason) throw reason;
  });
  promise.catch(() => undefined); // awaited at the end of consumption
  return { promise, isReached: () => reached };
}
