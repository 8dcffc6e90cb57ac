import { type DurablePlace, streamOf } from "@tidings/bus/streams";
import { projectionDurable } from "@tidings/projection/durable";

/** Segments follow the changes of contacts and companies. */
export const contactSegments: DurablePlace = { name: "contact-segments", stream: streamOf("contact") };

/** The durables of this service. */
export const durables: DurablePlace[] = [
  contactSegments,
  ...["identity", "content", "campaign"].map((owner) => projectionDurable("contact", owner)),
];
