import { randomUUID } from "node:crypto";
import { create, type DescMessage, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import type { Event } from "@tidings/bus/event";
import { createFanOut } from "../fan-out.ts";
import type { Records, Rendered } from "../records.ts";
import type { Scene } from "./scene.ts";

export const TIME = "2026-11-20T10:00:00.123456Z";

type ContactWriter = Records["contacts"];

/** Turns events into deliveries, with a contact and a company for all of them. Answers how often contacts were rendered. */
export async function fanOut(
  { database }: Scene,
  events: Event[],
  render: ContactWriter = async (sources) =>
    sources.map((source) => rendered("id" in source ? { id: source.id } : { id: 7, points: 5 })),
): Promise<number> {
  let renderings = 0;
  const handle = createFanOut({
    database,
    records: {
      contacts(sources) {
        renderings += 1;
        return render(sources);
      },
      companies: async (sources) => sources.map(() => rendered({ id: 3 })),
    },
    firstDelaySeconds: 0,
    onDeliveries: () => undefined,
  });
  await handle(events);
  return renderings;
}

export function rendered(value: unknown, ownerId = 0): Rendered {
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
