import { type DurablePlace, streamOf } from "@tidings/bus/streams";

/** The durable by which a service keeps its replicas of one owner's entities and facts up to date. */
export function projectionDurable(service: string, owner: string): DurablePlace {
  return { name: `${service}-projection-${owner}`, stream: streamOf(owner) };
}
