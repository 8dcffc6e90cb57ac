import type { Message } from "@bufbuild/protobuf";
import { badRequest } from "@tidings/rpc/fault";

/** Characters that the texts of a batch answer may have: in any encoding they fit into one message between services. */
const BATCH_LENGTH_MAX = 8 * 1024 * 1024;

/** Throws INVALID_ARGUMENT when these items are too long for one answer. */
export function checkLength(items: Message[]): void {
  if (lengthOf(items) <= BATCH_LENGTH_MAX) return;
  throw badRequest("The answer to this batch would be too long. Send fewer items at once.");
}

/** The length of all texts and bytes in a value. */
function lengthOf(value: unknown): number {
  if (typeof value === "string" || value instanceof Uint8Array) return value.length;
  if (typeof value !== "object" || value === null) return 0;
  return Object.values(value).reduce((sum: number, member) => sum + lengthOf(member), 0);
}
