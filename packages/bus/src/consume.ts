import { setTimeout as pause } from "node:timers/promises";
import type { ConsumerMessages, JsMsg } from "@nats-io/jetstream";
import type { Subscription } from "@nats-io/transport-node";
import { SpanKind } from "@opentelemetry/api";
import { inSpan } from "@tidings/runtime/telemetry";
import { Counter, Histogram } from "prom-client";
import { type Bus, BusUnavailable } from "./connect.ts";
import type { Event } from "./event.ts";
import { linkTo } from "./link.ts";
import { eventsIn } from "./pack.ts";
import { headersOf } from "./publish.ts";
import { type Letter, readEvents } from "./read-events.ts";
import {
  ACK_WAIT_MS,
  type DurableDefinition,
  ensureDurable,
  type StreamIdentity,
  streamToRead,
} from "./streams.ts";

export interface ConsumeOptions {
  durable: DurableDefinition;
  /** Must be idempotent: an event can come more than once. The events are those of a batch in stream order. */
  handle(events: Event[]): Promise<void>;
  /** May this stream be read, as it is now? It is asked again in a moment. */
  isReadable(stream: StreamIdentity): Promise<boolean>;
  /** Is a failure due to something that will come back, and not to the events? Then the batch waits for it. */
  isOutage(error: unknown): boolean;
  /** Keeps an event that was tried often enough. When this fails it is tried again. */
  deadLetter(event: DeadLetter): Promise<void>;
}

export interface DeadLetter extends Letter {
  id: string;
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
const age = new Histogram({
  name: "tidings_consumer_event_age_seconds",
  help: "Age of the first event of a batch once the batch was handled: how long it took from the commit to the effect",
  labelNames: ["durable"],
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600],
});

const BATCH_MAX = 100;
/** Many more than are pulled: acknowledgements that a crash of the server took along count until ack_wait is over. */
const IN_FLIGHT_MAX = 20 * BATCH_MAX;
const ATTEMPTS_MAX = 10;
const RETRY_DELAYS_MS = [1_000, 5_000, 30_000, 120_000, 600_000];
const WORKING_INTERVAL_MS = ACK_WAIT_MS / 3;
const PULL_EXPIRES_MS = 30_000;
/**
 * Two missing heartbeats tell that the server forgot what it was asked, as it may when it has just started, or that a stream is
 * lost. One that is deleted says so.
 */
const HEARTBEAT_MS = 1_000;
const RESTART_MS = 500;
/** To wait for so many restarts is nothing that belongs to a start. */
const WAITS_TOLD = 10;
/** A connection that is away does not hold up the end. */
const DRAIN_LIMIT_MS = 1_000;
const GATHER_MS = 5;
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;

/**
 * Consumes a durable until stopped, through lost connections, deleted streams and failing handlers. A batch is what has
 * arrived when the one before is done, a hundred events and the rest of their pack. When a batch fails, its halves are
 * tried, so that a single bad event does not hold up the others; that one is delivered again later and given up after 10
 * attempts.
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
  let messages: ConsumerMessages | undefined;
  let waits = 0;
  bus.onConnected(() => messages?.stop());
  while (!signal.aborted) {
    try {
      await consumeOnce(bus, options, signal, (opened) => {
        messages = opened;
        waits = 0;
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
  if (!(await options.isReadable(stream))) throw new BusUnavailable(`${stream.name} is of another time`);
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

interface Item {
  message: JsMsg;
  event: Event;
}

interface Failure {
  reason: unknown;
  /** The event that failed; none where its message cannot be read. */
  event?: Event;
}

/**
 * Lets the batch be handled. One that fails is split, and so on, until the event that fails stands alone and all others are
 * done. A message that has failing events comes again with all of its events: those that are done are known to the handler.
 */
async function handleBatch(
  bus: Bus,
  batch: JsMsg[],
  options: ConsumeOptions,
  signal: AbortSignal,
): Promise<void> {
  const failures = new Map<JsMsg, Failure[]>();
  const interrupted = new Set<JsMsg>();
  const fail = (message: JsMsg, failure: Failure) => {
    if (signal.aborted) interrupted.add(message);
    else failures.set(message, [...(failures.get(message) ?? []), failure]);
  };
  const read = async (message: JsMsg): Promise<Item[]> => {
    const outcome = await insist(bus, 1, () => readEvents(bus, message), options, signal);
    if ("value" in outcome) return outcome.value.map((event) => ({ message, event }));
    fail(message, outcome);
    return [];
  };
  const handle = async (items: Item[]): Promise<void> => {
    const events = items.map(({ event }) => event);
    const outcome = await insist(bus, items.length, () => handleInSpan(events, options), options, signal);
    if ("value" in outcome) return;
    if (items.length === 1 || signal.aborted) {
      for (const { message, event } of items) fail(message, { ...outcome, event });
      return;
    }
    const middle = Math.ceil(items.length / 2);
    await handle(items.slice(0, middle));
    await handle(items.slice(middle));
  };
  const items = (await Promise.all(batch.map(read))).flat();
  if (items.length > 0) await handle(items);
  for (const message of batch) {
    const failed = failures.get(message);
    // Events that were not handled before the stop go to other replicas.
    if (interrupted.has(message)) message.nak();
    else if (failed) await retryLater(bus, message, failed, options);
    else message.ack();
  }
}

/** Handles events and returns the failure, if any. During an outage the events are tried again. */
async function insist<T>(
  bus: Bus,
  events: number,
  work: () => Promise<T>,
  options: ConsumeOptions,
  signal: AbortSignal,
): Promise<{ value: T } | { reason: unknown }> {
  const durable = options.durable.name;
  for (let tries = 1; ; tries += 1) {
    try {
      return { value: await work() };
    } catch (reason) {
      const isOutage = reason instanceof BusUnavailable || options.isOutage(reason);
      failures.inc({ durable, cause: isOutage ? "outage" : "events" });
      const fields = { err: reason, durable, events, tries };
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

/** One span: it continues the trace of the first event that has one and links to those of the others. */
async function handleInSpan(events: Event[], { durable, handle }: ConsumeOptions): Promise<void> {
  const [traceparent, ...others] = events.flatMap((event) => event.traceparent ?? []);
  const attributes = {
    "messaging.system": "nats",
    "messaging.batch.message_count": events.length,
    "messaging.consumer.group.name": durable.name,
  };
  await inSpan(`consume ${durable.name}`, { kind: SpanKind.CONSUMER, traceparent, attributes }, (span) => {
    for (const other of others) linkTo(span, other);
    return handle(events);
  });
  const madeAt = Date.parse(events[0]?.time ?? "");
  age.observe({ durable: durable.name }, Math.max(0, Date.now() - madeAt) / 1_000);
}

async function retryLater(
  bus: Bus,
  message: JsMsg,
  failed: Failure[],
  options: ConsumeOptions,
): Promise<void> {
  const attempts = message.info.deliveryCount;
  const fields = {
    err: failed[0]?.reason,
    durable: options.durable.name,
    subject: message.subject,
    attempts,
  };
  const delayMs = RETRY_DELAYS_MS[Math.min(attempts, RETRY_DELAYS_MS.length) - 1];
  if (attempts < ATTEMPTS_MAX) {
    bus.log.warn(fields, "event could not be handled, trying again later");
    return message.nak(delayMs);
  }
  try {
    for (const failure of failed) await options.deadLetter(deadLetterOf(message, failure));
    bus.log.error({ ...fields, events: failed.length }, "events could not be handled and were set aside");
    message.term();
  } catch (cause) {
    bus.log.error({ ...fields, err: cause }, "event could not be set aside");
    message.nak(delayMs);
  }
}

function deadLetterOf(message: JsMsg, { event, reason }: Failure): DeadLetter {
  const { subject, data } = message;
  const attempts = message.info.deliveryCount;
  if (event) {
    const { id, payload } = event;
    return { id, subject, headers: headersOf(event), payload, error: reason, attempts };
  }
  const names = message.headers?.keys() ?? [];
  const headers = Object.fromEntries(names.map((name) => [name, message.headers?.get(name) ?? ""]));
  const id = headers["ce-id"] ?? `${message.info.stream}:${message.seq}`;
  return { id, subject, headers, payload: data, error: reason, attempts };
}

/** Exponential with full jitter. */
function backOff(failures: number, signal: AbortSignal): Promise<void> {
  return sleep(Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures), signal);
}

/** Ends early, without an error, when we are to stop. */
async function sleep(durationMs: number, signal: AbortSignal): Promise<void> {
  await pause(durationMs, undefined, { signal }).catch(() => undefined);
}
