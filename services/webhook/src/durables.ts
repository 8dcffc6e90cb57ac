import { type DurablePlace, streamOf } from "@tidings/bus/streams";
import { projectionDurable } from "@tidings/projection/durable";

/** Events of these streams fire triggers. */
export const fanOut: DurablePlace = { name: "webhook-fan-out", stream: streamOf("contact") };
export const fanOutOfContent: DurablePlace = {
  name: "webhook-fan-out-content",
  stream: streamOf("content"),
};

/** The durables of this service. */
export const durables: DurablePlace[] = [
  fanOut,
  fanOutOfContent,
  ...["contact", "content", "campaign", "identity"].map((owner) => projectionDurable("webhook", owner)),
];
