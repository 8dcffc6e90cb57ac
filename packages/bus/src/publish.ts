import { headers } from "@nats-io/transport-node";
import type { Bus } from "./connect.ts";
import type { Event } from "./event.ts";
import { storePayload } from "./payload/large-payload.ts";
import { encodePack, PACKED } from "./payload/pack.ts";

const ACK_TIMEOUT_MS = 2_000;
const NOTHING = new Uint8Array(0);

/**
 * Publishes one event in the binary mode of the CloudEvents NATS protocol binding and waits until the stream has it.
 * The event's id makes a repetition within the stream's duplicate window harmless. Call it many times at once: awaited
 * one by one it is several times slower. Answers its place in the stream.
 */
export async function publish(bus: Bus, event: Event): Promise<number> {
  const fields = headers();
  for (const [name, value] of Object.entries(headersOf(event))) fields.set(name, value);
  const isLarge = event.payload.length > bus.payloadMax();
  if (isLarge) fields.set("ce-dataref", await storePayload(bus, event));
  const { seq } = await bus.client().jetstream.publish(event.subject, isLarge ? NOTHING : event.payload, {
    msgID: event.id,
    headers: fields,
    timeout: ACK_TIMEOUT_MS,
  });
  return seq;
}

/** Publishes what goes together (`packsOf`), as `publish` does. A pack that is repeated with the same events is one. */
export async function publishPack(bus: Bus, events: Event[]): Promise<number> {
  const [first, ...others] = events;
  if (!first) return 0;
  if (others.length === 0) return publish(bus, first);
  const fields = headers();
  fields.set(PACKED, String(events.length));
  fields.set("content-type", "application/protobuf; proto=tidings.api.v1.EventPack");
  const { seq } = await bus.client().jetstream.publish(first.subject, encodePack(events), {
    msgID: `${first.id}+${others.length}`,
    headers: fields,
    timeout: ACK_TIMEOUT_MS,
  });
  return seq;
}

/** The headers of the message that carries an event. */
export function headersOf(event: Event): Record<string, string> {
  return {
    "ce-specversion": "1.0",
    "ce-id": event.id,
    "ce-type": event.subject,
    "ce-source": sourceOf(event.subject),
    "ce-time": event.time,
    "ce-subject": String(event.aggregateId),
    "ce-aggregateversion": String(event.aggregateVersion),
    "content-type": "application/protobuf",
    ...(event.traceparent && { traceparent: event.traceparent }),
    ...(event.actor && { "ce-actor": encodeURIComponent(JSON.stringify(event.actor)) }),
  };
}

/** `tidings.contact.contact.created` comes from `/tidings/contact`. */
function sourceOf(subject: string): string {
  return `/${subject.split(".").slice(0, 2).join("/")}`;
}
