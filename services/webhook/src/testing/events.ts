import { randomUUID } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { createFanOut, type Render } from "../fan-out.ts";
import type { Scene } from "./scene.ts";

export const TIME = "2026-11-20T10:00:00.123456Z";

/** Turns events into deliveries, with a contact and a company for all of them. Answers how often contacts were rendered. */
export async function fanOut(
  { database }: Scene,
  events: Event[],
  render: Render = async (sources) =>
    sources.map((source) => rendered("id" in source ? { id: source.id } : { id: 7, points: 5 })),
): Promise<number> {
  let renderings = 0;
  const handle = createFanOut({
    database,
    renderContacts(sources) {
      renderings += 1;
      return render(sources);
    },
    renderCompanies: async (sources) => sources.map(() => rendered({ id: 3 })),
    firstDelaySeconds: 0,
    onDeliveries: () => undefined,
  });
  await handle(events);
  return renderings;
}

export function rendered(value: unknown, ownerId = 0) {
  return { json: JSON.stringify(value), ownerId };
}

export function event<S extends DescMessage>(
  verb: string,
  schema: S,
  message: MessageInitShape<S>,
  resource = "contact",
): Event {
  return {
    id: randomUUID(),
    subject: `tidings.contact.${resource}.${verb}`,
    aggregateId: 7,
    aggregateVersion: 1,
    time: TIME,
    traceparent: undefined,
    actor: undefined,
    payload: toBinary(schema, create(schema, message)),
  };
}
