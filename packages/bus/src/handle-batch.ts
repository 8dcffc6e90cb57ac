import type { JsMsg } from "@nats-io/jetstream";
import { SpanKind } from "@opentelemetry/api";
import { inSpan } from "@tidings/runtime/telemetry";
import { Counter, Histogram } from "prom-client";
import { type Bus, BusUnavailable } from "./connect.ts";
import type { Event } from "./event.ts";
import { linkTo } from "./link.ts";
import { headersOf } from "./publish.ts";
import { type Letter, readEvents } from "./read-events.ts";
import { sleep } from "./sleep.ts";
import type { DurableDefinition } from "./streams.ts";

export interface BatchOptions {
  durable: DurableDefinition;
  /** Must be idempotent: an event can come more than once. The events are those of a batch in stream order. */
  handle(events: Event[]): Promise<void>;
  /** True for a failure whose cause will pass whatever the events are. The batch then waits for it. */
  isOutage(error: unknown): boolean;
  /** Keeps an event that was tried often enough. When this fails, the event is tried again. */
  deadLetter(event: DeadLetter): Promise<void>;
}

export interface DeadLetter extends Letter {
  id: string;
  error: unknown;
  attempts: number;
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

const ATTEMPTS_MAX = 10;
const RETRY_DELAYS_MS = [1_000, 5_000, 30_000, 120_000, 600_000];
const BACKOFF_FIRST_MS = 100;
const BACKOFF_MAX_MS = 5_000;

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
 * Handles a batch. A batch that fails is halved until the event that fails stands alone and all others are done. A message with
 * failing events is delivered again with all of its events: the handler knows those that are done.
 */
export async function handleBatch(
  bus: Bus,
  batch: JsMsg[],
  options: BatchOptions,
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
  options: BatchOptions,
  signal: AbortSignal,
): Promise<{ value: T } | { reason: unknown }> {
  const durable = options.durable.name;
  for (let tries = 1; ; tries += 1) {
    try {
      return { value: await work() };
    } catch (reason) {
      if (signal.aborted) return { reason };
      const isOutage = reason instanceof BusUnavailable || options.isOutage(reason);
      failures.inc({ durable, cause: isOutage ? "outage" : "events" });
      const fields = { err: reason, durable, events, tries };
      bus.log.warn(
        fields,
        isOutage ? "events wait for what their handler needs" : "events could not be handled",
      );
      if (!isOutage) return { reason };
    }
    await backOff(tries, signal);
    if (signal.aborted) return { reason: signal.reason };
  }
}

/** One span: it continues the trace of the first event that has one and links to those of the others. */
async function handleInSpan(events: Event[], { durable, handle }: BatchOptions): Promise<void> {
  const [traceparent, ...others] = events.flatMap((event) => event.traceparent ?? []);
  const attributes = {
    "messaging.system": "nats",
    "messaging.operation.name": "consume",
    "messaging.operation.type": "process",
    "messaging.destination.name": durable.stream.name,
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

async function retryLater(bus: Bus, message: JsMsg, failed: Failure[], options: BatchOptions): Promise<void> {
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
