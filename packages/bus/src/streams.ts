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
import { nanos, PermissionViolationError, RequestError } from "@nats-io/transport-node";
import { type Bus, BusUnavailable } from "./connect.ts";

/** A stream holds the events of the one process that owns their subjects. */
export interface StreamDefinition {
  name: string;
  subjects: string[];
}

/** A durable consumer is named for the process whose place in the stream it keeps. */
export interface DurablePlace {
  name: string;
  stream: StreamDefinition;
}

export interface DurableDefinition extends DurablePlace {
  /** The subjects it is sent, none of which matches another's (nats-server 2.10). */
  subjects: string[];
}

/** A durable as it is named among the rights on the bus: `CONTACT/contact-segments`. */
export function durableKey({ stream, name }: DurablePlace): string {
  return `${stream.name}/${name}`;
}

/** The stream of the events of a process. */
export function streamOf(process: string): StreamDefinition {
  return { name: process.toUpperCase(), subjects: [`tidings.${process}.>`] };
}

export const ACK_WAIT_MS = 30_000;
const DUPLICATE_WINDOW_MS = 5 * 60_000;
/** How long a stream remembers. */
export const MAX_AGE_MS = 7 * 24 * 3600_000;
const STREAM_NAME_IN_USE = 10058;
const CONSUMER_EXISTS = 10148;

/** Identifies a stream: another one of the same name, or an earlier state of it, differs. */
export interface StreamIdentity {
  name: string;
  /** ISO 8601, nanoseconds: one that was deleted and made again has another. */
  created: string;
  /** The sequence number of the latest message. It only grows. */
  lastSeq: number;
}

/** Creates the stream, or brings an older definition of it up to date: for the process whose events it holds. */
export async function ensureStream(bus: Bus, definition: StreamDefinition): Promise<StreamIdentity> {
  const { manager } = bus.client();
  const { name } = definition;
  const config = streamConfig(definition, bus.replicas);
  const info = await findOrAddStream(bus, definition);
  const { config: actual } = info;
  if (!isUpToDate(actual, config)) {
    // Events can still be published when this fails: an operator decides what to do about the definition.
    await manager.streams
      .update(name, config)
      .catch((error) => bus.log.error({ err: error, stream: name }, "stream could not be updated"));
  }
  return identityOf(info);
}

/** Makes the stream anew, with nothing in it and no durable: those who read it make theirs again. */
export async function remakeStream(bus: Bus, definition: StreamDefinition): Promise<StreamIdentity> {
  await bus.client().manager.streams.delete(definition.name);
  return ensureStream(bus, definition);
}

/** The stream for one of its readers; throws BusUnavailable when there is none and the server leaves it to its owner to make. */
export async function streamToRead(bus: Bus, definition: StreamDefinition): Promise<StreamIdentity> {
  try {
    return identityOf(await findOrAddStream(bus, definition));
  } catch (error) {
    if (!isRefused(error)) throw error;
    throw new BusUnavailable(`${definition.name} is not there yet, and for its owner to make`);
  }
}

/** Creates the durable on its stream, or makes one that is there like this. `inFlightMax` bounds what is delivered and not yet acknowledged. */
export async function ensureDurable(
  bus: Bus,
  definition: DurableDefinition,
  inFlightMax: number,
): Promise<void> {
  const config = {
    durable_name: definition.name,
    filter_subjects: definition.subjects,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ACK_WAIT_MS),
    deliver_policy: DeliverPolicy.All,
    max_ack_pending: inFlightMax,
    // We count and give up ourselves: the server would drop the message without a trace.
    max_deliver: -1,
  } satisfies Partial<ConsumerConfig>;
  const { consumers } = bus.client().manager;
  try {
    await consumers.add(definition.stream.name, config);
  } catch (error) {
    // From 2.10 on servers change nothing of a durable that is there unless they are asked to.
    if (!hasCode(error, CONSUMER_EXISTS)) throw error;
    // An update keeps what it does not name: earlier versions set a single filter, beside which there may be no others.
    const update = { ...config, filter_subject: undefined } as unknown as ConsumerConfig;
    await consumers.update(definition.stream.name, definition.name, update);
  }
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

async function findOrAddStream(bus: Bus, definition: StreamDefinition): Promise<StreamInfo> {
  const { manager } = bus.client();
  const found = await findStream(manager, definition.name);
  return found ?? addStream(manager, streamConfig(definition, bus.replicas));
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

function identityOf({ config, created, state }: StreamInfo): StreamIdentity {
  return { name: config.name, created, lastSeq: state.last_seq };
}

function isUpToDate(actual: StreamConfig, wanted: Partial<StreamConfig>): boolean {
  return Object.entries(wanted).every(
    ([key, value]) => JSON.stringify(actual[key as keyof StreamConfig]) === JSON.stringify(value),
  );
}

/** Did the server say that this is not for us to do? */
function isRefused(error: unknown): boolean {
  return error instanceof RequestError && error.cause instanceof PermissionViolationError;
}

function hasCode(error: unknown, code: number): boolean {
  return error instanceof JetStreamApiError && error.code === code;
}
