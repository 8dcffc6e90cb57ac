import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { connect, headers } from "@nats-io/transport-node";
import { decodePack, PACKED } from "@tidings/bus/payload/pack";

const CONTACT = "CONTACT";
/** Messages that are read at a time. */
const READ_MAX = 500;

/** How many events the stream of contacts holds, in whatever number of messages, and each of them however often. */
export async function countEvents(natsUrl: string): Promise<number> {
  return (await eventsOn(natsUrl, CONTACT, "tidings.contact.>")).size;
}

/** The payloads of the events that a stream holds on a subject, or on those of a wildcard, by the ids of the events: one that was published twice is one. */
export async function eventsOn(
  natsUrl: string,
  stream: string,
  subjects: string,
): Promise<Map<string, Uint8Array>> {
  await using connection = await connected(natsUrl);
  const consumer = await jetstream(connection.nats).consumers.get(stream, { filter_subjects: subjects });
  const events = new Map<string, Uint8Array>();
  for (let left = (await consumer.info()).num_pending; left > 0; ) {
    const messages = await consumer.fetch({ max_messages: Math.min(left, READ_MAX) });
    for await (const { headers: header, subject, data } of messages) {
      left -= 1;
      if (header?.has(PACKED))
        for (const { id, payload } of decodePack(subject, data)) events.set(id, payload);
      else events.set(header?.get("ce-id") ?? "", data);
    }
  }
  return events;
}

/** The payload of the latest event on a subject. */
export async function latestEvent(natsUrl: string, stream: string, subject: string): Promise<Buffer> {
  await using connection = await connected(natsUrl);
  const manager = await jetstreamManager(connection.nats);
  const latest = await manager.streams.getMessage(stream, { last_by_subj: subject });
  if (!latest) throw new Error(`there is no event on ${subject}`);
  return Buffer.from(latest.data);
}

/** Puts the latest event on a subject into the stream once more, past the server's own check for duplicates. */
export async function repeatLatestEvent(natsUrl: string, subject: string): Promise<void> {
  await using connection = await connected(natsUrl);
  const manager = await jetstreamManager(connection.nats);
  const latest = await manager.streams.getMessage(CONTACT, { last_by_subj: subject });
  if (!latest) throw new Error(`there is no event on ${subject}`);
  const repeated = headers();
  for (const [name, values] of latest.header) {
    if (name !== "Nats-Msg-Id") for (const value of values) repeated.append(name, value);
  }
  await manager.jetstream().publish(subject, latest.data, { headers: repeated });
}

async function connected(natsUrl: string) {
  const nats = await connect({ servers: natsUrl });
  return { nats, [Symbol.asyncDispose]: () => nats.close() };
}

/** How many messages a stream was sent so far. */
export async function messagesIn(natsUrl: string, stream: string): Promise<number> {
  await using connection = await connected(natsUrl);
  const { streams } = await jetstreamManager(connection.nats);
  return (await streams.info(stream)).state.last_seq;
}

/** How many messages each durable of a stream was sent so far, and those that it will be. */
export async function deliveriesByDurable(natsUrl: string, stream: string): Promise<Map<string, number>> {
  await using connection = await connected(natsUrl);
  const manager = await jetstreamManager(connection.nats);
  const deliveries = new Map<string, number>();
  for await (const { name, delivered, num_pending } of manager.consumers.list(stream))
    deliveries.set(name, delivered.consumer_seq + num_pending);
  return deliveries;
}
