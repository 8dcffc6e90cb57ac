import type { Bus } from "./connect.ts";
import type { StreamDefinition } from "./streams.ts";

/** When the oldest event of a stream was published that some durable has not acknowledged; undefined when there is none. */
export async function oldestUnacknowledged(bus: Bus, { name }: StreamDefinition): Promise<Date | undefined> {
  const { manager } = bus.client();
  let floor = Number.POSITIVE_INFINITY;
  for await (const { ack_floor, num_pending, num_ack_pending } of manager.consumers.list(name))
    if (num_pending + num_ack_pending > 0) floor = Math.min(floor, ack_floor.stream_seq);
  if (floor === Number.POSITIVE_INFINITY) return undefined;
  const message = await manager.streams.getMessage(name, { seq: floor + 1 });
  // The stream itself has forgotten it: its age is unknown.
  return message?.time ?? new Date(0);
}
