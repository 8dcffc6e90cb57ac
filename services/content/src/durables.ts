import type { DurablePlace } from "@tidings/bus/streams";
import { projectionDurable } from "@tidings/projection/durable";

/** The durables of this service. */
export const durables: DurablePlace[] = ["contact", "identity"].map((owner) =>
  projectionDurable("content", owner),
);
