import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { JsMsg } from "@nats-io/jetstream";
import { EventPackSchema } from "@tidings/proto/tidings/api/v1/event_pack";
import type { Event } from "../event.ts";

/** The header of a packed message: the number of its events. */
export const PACKED = "tidings-events";

const EVENTS_MAX = 50;
const BYTES_MAX = 256 * 1024;
/** Bytes that an event adds to a pack besides its payload, at most. */
const ENVELOPE_BYTES = 1024;

/**
 * Events as they are published: those that follow each other and are of one subject go together, since a message costs the
 * server and each consumer as much as what is in it. One that is traced or large goes alone. `payloadMax` is what the server takes.
 */
export function packsOf(events: Event[], payloadMax: number): Event[][] {
  const bytesMax = Math.min(BYTES_MAX, payloadMax);
  const packs: Event[][] = [];
  let bytes = 0;
  let last: Event | undefined;
  for (const event of events) {
    const pack = packs.at(-1);
    const own = event.payload.length + ENVELOPE_BYTES;
    bytes += own;
    const isTraced = event.traceparent !== undefined || last?.traceparent !== undefined;
    if (
      pack &&
      pack.length < EVENTS_MAX &&
      bytes <= bytesMax &&
      !isTraced &&
      last?.subject === event.subject
    ) {
      pack.push(event);
    } else {
      packs.push([event]);
      bytes = own;
    }
    last = event;
  }
  return packs;
}

/** How many events a message has. */
export function eventsIn(message: JsMsg): number {
  return Number(message.headers?.get(PACKED) || 1);
}

export function encodePack(events: Event[]): Uint8Array {
  const packed = events.map(({ id, aggregateId, aggregateVersion, time, actor, payload }) => ({
    id,
    aggregateId,
    aggregateVersion,
    time,
    actor: actor ? JSON.stringify(actor) : "",
    payload: new Uint8Array(payload),
  }));
  return toBinary(EventPackSchema, create(EventPackSchema, { events: packed }));
}

export function decodePack(subject: string, bytes: Uint8Array): Event[] {
  return fromBinary(EventPackSchema, bytes).events.map(({ $typeName: _, actor, ...event }) => ({
    ...event,
    subject,
    traceparent: undefined,
    actor: actor ? JSON.parse(actor) : undefined,
  }));
}
