import {
  AckPolicy,
  type ConsumerConfig,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  type JetStreamManager,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
  type StreamInfo,
} from "@nats-io/jetstream";
import { nanos } from "@nats-io/transport-node";
import type { Bus } from "./connect.ts";

/** A stream holds the events of the one process that owns their subjects. */
export interface StreamDefinition {
  name: string;
  subjects: string[];
}

/** A durable consumer is named for the process whose place in the stream it keeps. */
export interface DurableDefinition {
  name: string;
  stream: StreamDefinition;
  /** One filter: that is all nats-server 2.9 knows. */
  subject: string;
}

/** The stream of what a process tells. */
export function streamOf(process: string): StreamDefinition {
  return { name: process.toUpperCase(), subjects: [`tidings.${process}.>`] };
}

export const contactStream = streamOf("contact");
export const identityStream = streamOf("identity");
export const contentStream = streamOf("content");
export const campaignStream = streamOf("campaign");

export const webhookFanOut: DurableDefinition = {
  name: "webhook-fan-out",
  stream: contactStream,
  subject: "tidings.contact.>",
};

export const contactSegments: DurableDefinition = {
  name: "contact-segments",
  stream: contactStream,
  subject: "tidings.contact.>",
};

export const ACK_WAIT_MS = 30_000;
const DUPLICATE_WINDOW_MS = 5 * 60_000;
/** How long a stream remembers. */
export const MAX_AGE_MS = 7 * 24 * 3600_000;
const STREAM_NAME_IN_USE = 10058;

/** A stream that was deleted and made again has another moment of creation (ISO 8601, nanoseconds). */
export interface StreamIdentity {
  name: string;
  created: string;
}

/** Creates the stream, or brings an older definition of it up to date. */
export async function ensureStream(bus: Bus, definition: StreamDefinition): Promise<StreamIdentity> {
  const { manager } = bus.client();
  const { name } = definition;
  const config = streamConfig(definition, bus.replicas);
  const { config: actual, created } = (await findStream(manager, name)) ?? (await addStream(manager, config));
  if (!isUpToDate(actual, config)) {
    // Events can still be published when this fails: an operator decides what to do about the definition.
    await manager.streams
      .update(name, config)
      .catch((error) => bus.log.error({ err: error, stream: name }, "stream could not be updated"));
  }
  return { name, created };
}

/** Creates the durable, and its stream before it. `inFlightMax` bounds what is delivered and not yet acknowledged. */
export async function ensureDurable(
  bus: Bus,
  definition: DurableDefinition,
  inFlightMax: number,
): Promise<void> {
  await ensureStream(bus, definition.stream);
  const config: Partial<ConsumerConfig> = {
    durable_name: definition.name,
    filter_subject: definition.subject,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    deliver_policy: DeliverPolicy.All,
    max_ack_pending: inFlightMax,
    // We count and give up ourselves: the server would drop the message without a trace.
    max_deliver: -1,
  };
  await bus.client().manager.consumers.add(definition.stream.name, config);
}

function streamConfig({ name, subjects }: StreamDefinition, replicas: number) {
  return {
    name,
    subjects,
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    num_replicas: replicas,
    duplicate_window: nanos(DUPLICATE_WINDOW_MS),
    max_age: nanos(MAX_AGE_MS),
    // A full stream refuses new events, which then wait in the outbox, instead of forgetting old ones.
    discard: DiscardPolicy.New,
    deny_delete: true,
  };
}

async function findStream(manager: JetStreamManager, name: string): Promise<StreamInfo | undefined> {
  try {
    return await manager.streams.info(name);
  } catch (error) {
    if (hasCode(error, JetStreamApiCodes.StreamNotFound)) return undefined;
    throw error;
  }
}

async function addStream(
  manager: JetStreamManager,
  config: ReturnType<typeof streamConfig>,
): Promise<StreamInfo> {
  try {
    return await manager.streams.add(config);
  } catch (error) {
    // Somebody else was faster, with a definition of another version.
    if (hasCode(error, STREAM_NAME_IN_USE)) return manager.streams.info(config.name);
    throw error;
  }
}

function isUpToDate(actual: StreamConfig, wanted: Partial<StreamConfig>): boolean {
  return Object.entries(wanted).every(
    ([key, value]) => JSON.stringify(actual[key as keyof StreamConfig]) === JSON.stringify(value),
  );
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}
