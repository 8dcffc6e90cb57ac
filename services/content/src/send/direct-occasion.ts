import { randomUUID } from "node:crypto";
import type { Call } from "@tidings/rpc/call";

/** The occasion of a send that a caller asks for: the same one whenever the request comes again under its idempotency key. */
export function directOccasion({ repeatName }: Pick<Call, "repeatName">): string {
  return `direct:${repeatName ?? randomUUID()}`;
}
