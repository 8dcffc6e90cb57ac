import { randomUUID } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { createFanOut } from "../fan-out.ts";
import type { Records, Rendered } from "../records.ts";
import type { ReadMails } from "../sent-mails.ts";
import type { Scene } from "./scene.ts";

export const TIME = "2026-11-20T10:00:00.123456Z";

/** A contact and a company for all events. */
const RECORDS: Records = {
  contacts: async (sources) =>
    sources.map((source) => rendered("id" in source ? { id: source.id } : { id: 7, points: 5 })),
  companies: async (sources) => sources.map(() => rendered({ id: 3 })),
  leads: async (sources) =>
    sources.map(({ contactId }) => rendered(contactId === 0 ? null : { id: contactId, points: 5 })),
};

const NO_MAILS: ReadMails = async (hashes) =>
  hashes.map(() => ({ subject: null, headers: null, content: null }));

/** Turns events into deliveries. Answers how often contacts were rendered. */
export async function fanOut(
  { database }: Scene,
  events: Event[],
  { mails = NO_MAILS, ...own }: Partial<Records & { mails: ReadMails }> = {},
): Promise<number> {
  let renderings = 0;
  const records = { ...RECORDS, ...own };
  const handle = createFanOut({
    database,
    records: {
      ...records,
      contacts(sources) {
        renderings += 1;
        return records.contacts(sources);
      },
      leads(sources) {
        renderings += 1;
        return records.leads(sources);
      },
    },
    mails,
    firstDelaySeconds: 0,
    onDeliveries: () => undefined,
  });
  await handle(events);
  return renderings;
}

export function rendered(value: unknown, ownerId = 0): Rendered {
  return { json: JSON.stringify(value), ownerId };
}

/** An event of the service that owns the message. */
export function event<S extends DescMessage>(
  verb: string,
  schema: S,
  message: MessageInitShape<S>,
  resource = "contact",
): Event {
  const [, service] = schema.typeName.split(".");
  return {
    id: randomUUID(),
    subject: `tidings.${service}.${resource}.${verb}`,
    aggregateId: 7,
    aggregateVersion: 1,
    time: TIME,
    traceparent: undefined,
    actor: undefined,
    payload: toBinary(schema, create(schema, message)),
  };
}
