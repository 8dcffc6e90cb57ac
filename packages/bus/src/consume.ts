import { setTimeout as pause } from "node:timers/promises";
import type { ConsumerMessages, JsMsg } from "@nats-io/jetstream";
import type { Subscription } from "@nats-io/transport-node";
import { SpanKind } from "@opentelemetry/api";
import { inSpan } from "@tidings/runtime/telemetry";
import { Counter } from "prom-client";
import { type Bus, BusUnavailable } from "./connect.ts";
import { type Event, readEvent } from "./event.ts";
import { linkTo } from "./link.ts";
import { ACK_WAIT_MS, type DurableDefinition, ensureDurable } from "./streams.ts";

export interface ConsumeOptions {
  durable: DurableDefinition;
  /** Must be idempotent: an event can come more than once. The events are those of a batch in stream order. */
  handle(events: Event[]): Promise<void>;
  /** Is a failure due to something that will come back, and not to the events? Then the batch waits for it. */
  isOutage(error: unknown): boolean;
  /** Keeps an event that was tried often enough. When this fails it is tried again. */
  deadLetter(event: DeadLetter): Promise<void>;
}

export interface DeadLetter {
  id: string;
  subject: string;
  headers: Record<string, string>;
  payload: Uint8Array;
  error: unknown;
  attempts: number;
}

export interface Consumption {
  /** Finishes the batch in hand; the rest is left to other replicas. */
  stop(): Promise<void>;
}

const failures = new Counter({
  name: "tidings_consumer_failures_total",
  help: "Tries to handle a batch of events that failed, because of the events or of what the handler needs",
  labelNames: ["durable", "cause"],
});
const setAside = new Counter({
  name: "tidings_consumer_set_aside_total",
  help: "Events that were tried often enough and are kept as dead letters",
  labelNames: ["durable"],
});

const BATCH_MAX = 100;
/** Many more than are pulled: acknowledgements that a crash of the server took along count until ack_wait is over. */
const IN_FLIGHT_MAX = 20 * BATCH_MAX;
const ATTEMPTS_MAX = 10;
const RETRY_DELAYS_MS = [1_000, 5_000, 30_000, 120_000, 600_000];
const WORKING_INTERVAL_MS = ACK_WAIT_MS / 3;
const PULL_EXPIRES_MS = 30_000;
/** Short, so that a lost stream is noticed within seconds: by two heartbeats that are missing. */
const HEARTBEAT_MS = 5_000;
const RESTART_MS = 500;
/** A connection that is away does not hold up the end. */
const DRAIN_LIMIT_MS = 1_000;
const GATHER_MS = 5;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;

/**
 * Consumes a durable until stopped, through lost connections, deleted streams and failing handlers. A batch is what has
 * arrived when the one before is done, at most 100 events. When a batch fails, its halves are tried, so that a single bad
 * event does not hold up the others; that one is delivered again later and given up after 10 attempts.
 */
export function consume(bus: Bus, options: ConsumeOptions): Consumption {
  const stopping = new AbortController();
  const { signal } = stopping;
  const running = consumeForEver(bus, options, signal);
  return {
    stop() {
      stopping.abort();
      return running;
    },
  };
}

async function consumeForEver(bus: Bus, options: ConsumeOptions, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      await consumeOnce(bus, options, signal);
    } catch (error) {
      if (!(error instanceof BusUnavailable)) {
        bus.log.warn({ err: error, durable: options.durable.name }, "consuming failed, starting again");
      }
    }
    await sleep(RESTART_MS * (0.5 + Math.random()), signal);
  }
}

/** Consumes until stopped or until the stream or the durable is gone. */
async function consumeOnce(bus: Bus, options: ConsumeOptions, signal: AbortSignal): Promise<void> {
  const { durable } = options;
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
  const end = followEnd(messages, () => wake());
  const onStop = () => wake();
  signal.addEventListener("abort", onStop, { once: true });

  let batch: JsMsg[] = [];
  const keepAlive = setInterval(() => {
    for (const message of [...batch, ...arrived]) message.working();
  }, WORKING_INTERVAL_MS);
  try {
    while (!signal.aborted && !end.isReached()) {
      batch = arrived.splice(0, BATCH_MAX).sort((one, other) => one.seq - other.seq);
      if (batch.length > 0) await handleBatch(bus, batch, options, signal);
      else {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
        // What was published together arrives together.
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

/**
 * Lets the batch be handled. One that fails is split, and so on, until the event that fails stands alone and all others are
 * done.
 */
async function handleBatch(
  bus: Bus,
  batch: JsMsg[],
  options: ConsumeOptions,
  signal: AbortSignal,
): Promise<void> {
  const failure = await tryToHandle(bus, batch, options, signal);
  if (failure === undefined) return acknowledge(batch);
  if (signal.aborted) return release(batch);
  const [message] = batch;
  if (batch.length === 1 && message) return retryLater(bus, message, failure.reason, options);
  const middle = Math.ceil(batch.length / 2);
  await handleBatch(bus, batch.slice(0, middle), options, signal);
  await handleBatch(bus, batch.slice(middle), options, signal);
}

/** The failure, or undefined. While what the handler needs is away it is tried again with the same messages. */
async function tryToHandle(
  bus: Bus,
  batch: JsMsg[],
  options: ConsumeOptions,
  signal: AbortSignal,
): Promise<{ reason: unknown } | undefined> {
  const durable = options.durable.name;
  for (let tries = 1; ; tries += 1) {
    try {
      await handleInSpan(bus, batch, options);
      return undefined;
    } catch (reason) {
      const isOutage = reason instanceof BusUnavailable || options.isOutage(reason);
      failures.inc({ durable, cause: isOutage ? "outage" : "events" });
      const fields = { err: reason, durable, events: batch.length, tries };
      bus.log.warn(
        fields,
        isOutage ? "events wait for what their handler needs" : "events could not be handled",
      );
      if (!isOutage || signal.aborted) return { reason };
    }
    await backOff(tries, signal);
    if (signal.aborted) return { reason: signal.reason };
  }
}

/** One span: it continues the trace of the first event and links to those of the others. */
async function handleInSpan(bus: Bus, batch: JsMsg[], { durable, handle }: ConsumeOptions): Promise<void> {
  const events = await Promise.all(batch.map((message) => readEvent(bus, message)));
  const [first, ...others] = events;
  const attributes = {
    "messaging.system": "nats",
    "messaging.batch.message_count": events.length,
    "messaging.consumer.group.name": durable.name,
  };
  const name = `consume ${durable.subject}`;
  await inSpan(name, { kind: SpanKind.CONSUMER, traceparent: first?.traceparent, attributes }, (span) => {
    for (const { traceparent } of others) linkTo(span, traceparent);
    return handle(events);
  });
}

async function retryLater(bus: Bus, message: JsMsg, error: unknown, options: ConsumeOptions): Promise<void> {
  const attempts = message.info.deliveryCount;
  const fields = { err: error, durable: options.durable.name, subject: message.subject, attempts };
  const delayMs = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1];
  if (attempts < ATTEMPTS_MAX) {
    bus.log.warn(fields, "event could not be handled, trying again later");
    return message.nak(delayMs);
  }
  try {
    await options.deadLetter(await deadLetterOf(bus, message, error));
    setAside.inc({ durable: options.durable.name });
    bus.log.error(fields, "event could not be handled and was set aside");
    message.term();
  } catch (cause) {
    bus.log.error({ ...fields, err: cause }, "event could not be set aside");
    message.nak(delayMs);
  }
}

async function deadLetterOf(bus: Bus, message: JsMsg, error: unknown): Promise<DeadLetter> {
  const names = message.headers?.keys() ?? [];
  const headers = Object.fromEntries(names.map((name) => [name, message.headers?.get(name) ?? ""]));
  return {
    id: headers["ce-id"] ?? `${message.info.stream}:${message.seq}`,
    subject: message.subject,
    headers,
    payload: await readEvent(bus, message).then(
      ({ payload }) => payload,
      () => message.data,
    ),
    error,
    attempts: message.info.deliveryCount,
  };
}

function acknowledge(batch: JsMsg[]): void {
  for (const message of batch) message.ack();
}

function release(batch: JsMsg[]): void {
  for (const message of batch) message.nak();
}

/** Exponential with full jitter. */
function backOff(failures: number, signal: AbortSignal): Promise<void> {
  return sleep(Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures), signal);
}

/** Ends early, without an error, when we are to stop. */
async function sleep(durationMs: number, signal: AbortSignal): Promise<void> {
  await pause(durationMs, undefined, { signal }).catch(() => undefined);
}
