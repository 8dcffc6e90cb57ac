import { StorageType } from "@nats-io/jetstream";
import { Objm } from "@nats-io/obj";
import { nanos } from "@nats-io/transport-node";
import type { Bus } from "../connect.ts";
import type { Event } from "../event.ts";

/** As long as streams keep their events. */
const TTL_MS = 7 * 24 * 3600_000;

/**
 * A payload above what the server takes in a message goes into an object store beside the streams, in pieces; the message
 * names it (the `dataref` extension of CloudEvents). Answers that name. Each process has a store of its own, as it has a stream.
 */
export async function storePayload(bus: Bus, { id, subject, payload }: Event): Promise<string> {
  const bucket = bucketOf(subject);
  const options = { ttl: nanos(TTL_MS), storage: StorageType.File, replicas: bus.replicas };
  const store = await new Objm(bus.client().jetstream).create(bucket, options);
  await store.putBlob({ name: id }, payload);
  return `${bucket}/${id}`;
}

/** `tidings.contact.contact.created` has its payload in `tidings-events-contact`. */
function bucketOf(subject: string): string {
  return `tidings-events-${subject.split(".")[1]}`;
}

/** Throws when it is not there any more. */
export async function loadPayload(bus: Bus, reference: string): Promise<Uint8Array> {
  const [bucket = "", eventId = ""] = reference.split("/");
  const store = await new Objm(bus.client().jetstream).open(bucket);
  const payload = await store.getBlob(eventId);
  if (!payload) throw new Error(`the payload ${reference} is not in the store`);
  return payload;
}
