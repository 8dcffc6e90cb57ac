import { Code, Fault } from "./fault.ts";

const OUTAGES = new Set([
  Code.UNAVAILABLE,
  Code.RESOURCE_EXHAUSTED,
  Code.CANCELLED,
  // Keys that do not match yet, or clocks that do not agree: nothing that giving up an event would mend.
  Code.UNAUTHENTICATED,
  Code.PERMISSION_DENIED,
]);

/** Did this fail for a reason that will pass, whatever was asked? A deadline is none: to ask for less may help. */
export function isOutage(error: unknown): boolean {
  return error instanceof Fault && OUTAGES.has(error.code);
}
