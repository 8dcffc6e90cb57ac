import { StorageType } from "@nats-io/jetstream";
import { Objm } from "@nats-io/obj";
import { nanos } from "@nats-io/transport-node";
import type { Bus } from "./connect.ts";

const BUCKET = "tidings-events";
/** As long as streams keep their events. */
const TTL_MS = 7 * 24 * 3600_000;

/**
 * A payload above what the server takes in a message goes into an object store beside the streams, in pieces; the message
 * names it (the `dataref` extension of CloudEvents). Answers that name.
 */
export async function storePayload(bus: Bus, eventId: string, payload: Uint8Array): Promise<string> {
  const store = await openStore(bus);
  await store.putBlob({ name: eventId }, payload);
  return `${BUCKET}/${eventId}`;
}

/** Throws when it is not there any more. */
export async function loadPayload(bus: Bus, reference: string): Promise<Uint8Array> {
  const store = await openStore(bus);
  const payload = await store.getBlob(reference.slice(BUCKET.length + 1));
  if (!payload) throw new Error(`the payload ${reference} is not in the store`);
  return payload;
}

function openStore(bus: Bus) {
  const options = { ttl: nanos(TTL_MS), storage: StorageType.File, replicas: bus.replicas };
  return new Objm(bus.client().jetstream).create(BUCKET, options);
}
