import { headers } from "@nats-io/transport-node";
import type { Bus } from "./connect.ts";
import type { Event } from "./event.ts";
import { storePayload } from "./large-payload.ts";

const ACK_TIMEOUT_MS = 2_000;
const NOTHING = new Uint8Array(0);

/**
 * Publishes one event in the binary mode of the CloudEvents NATS protocol binding and waits until the stream has it.
 * The event's id makes a repetition within the stream's duplicate window harmless. Call it many times at once: awaited
 * one by one it is several times slower.
 */
export async function publish(bus: Bus, event: Event): Promise<void> {
  const fields = headers();
  fields.set("ce-specversion", "1.0");
  fields.set("ce-id", event.id);
  fields.set("ce-type", event.subject);
  fields.set("ce-source", sourceOf(event.subject));
  fields.set("ce-time", event.time);
  fields.set("ce-subject", String(event.aggregateId));
  fields.set("ce-aggregateversion", String(event.aggregateVersion));
  fields.set("content-type", "application/protobuf");
  if (event.traceparent) fields.set("traceparent", event.traceparent);
  if (event.actor) fields.set("ce-actor", encodeURIComponent(JSON.stringify(event.actor)));
  const isLarge = event.payload.length > bus.payloadMax();
  if (isLarge) fields.set("ce-dataref", await storePayload(bus, event.id, event.payload));
  await bus.client().jetstream.publish(event.subject, isLarge ? NOTHING : event.payload, {
    msgID: event.id,
    headers: fields,
    timeout: ACK_TIMEOUT_MS,
  });
}

/** `tidings.contact.contact.created` comes from `/tidings/contact`. */
function sourceOf(subject: string): string {
  return `/${subject.split(".").slice(0, 2).join("/")}`;
}
