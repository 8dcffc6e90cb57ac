import type { JsMsg } from "@nats-io/jetstream";
import { headers } from "@nats-io/transport-node";
import type { Bus } from "./connect.ts";
import type { Event, EventActor } from "./event.ts";
import { loadPayload } from "./payload/large-payload.ts";
import { decodePack, PACKED } from "./payload/pack.ts";

/** The parts of a message that are needed to read its events. */
type Told = Pick<JsMsg, "subject" | "headers" | "data">;

/** A dead-lettered message. */
export interface Letter {
  subject: string;
  headers: Record<string, string>;
  payload: Uint8Array;
}

const FIFTH_WORD = ".own";

/** The events of a message of our streams, in order. Throws when a header is missing: then it is none of ours. */
export async function readEvents(bus: Bus, message: Told): Promise<Event[]> {
  if (message.headers?.has(PACKED)) return decodePack(subjectOf(message), message.data);
  return [await readEvent(bus, message)];
}

/** Subjects of contacts had a fifth word before ADR 71; streams have such events for a week. */
function subjectOf({ subject }: Told): string {
  return subject.endsWith(FIFTH_WORD) ? subject.slice(0, -FIFTH_WORD.length) : subject;
}

/** The events of a dead-lettered message, or the event of one. */
export function readLetter(bus: Bus, { subject, headers: fields, payload }: Letter): Promise<Event[]> {
  const told = headers();
  for (const [name, value] of Object.entries(fields)) told.set(name, value);
  return readEvents(bus, { subject, headers: told, data: payload });
}

async function readEvent(bus: Bus, message: Told): Promise<Event> {
  const header = (name: string): string => {
    const value = message.headers?.get(name);
    if (!value) throw new Error(`a message on ${message.subject} has no ${name}`);
    return value;
  };
  const reference = message.headers?.get("ce-dataref");
  return {
    id: header("ce-id"),
    subject: subjectOf(message),
    aggregateId: Number(header("ce-subject")),
    aggregateVersion: Number(header("ce-aggregateversion")),
    time: header("ce-time"),
    traceparent: message.headers?.get("traceparent") || undefined,
    actor: readActor(message.headers?.get("ce-actor")),
    payload: reference ? await loadPayload(bus, reference) : message.data,
  };
}

function readActor(header: string | undefined): EventActor | undefined {
  return header ? JSON.parse(decodeURIComponent(header)) : undefined;
}
