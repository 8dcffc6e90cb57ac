import { badRequest } from "@tidings/rpc/fault";

/** Records that one answer holds: the memory it takes is bounded. */
export const RECORDS_MAX = 1_000;

/** Throws INVALID_ARGUMENT when a call names more than so many. */
export function limit(count: number, max: number): void {
  if (count > max) throw badRequest(`At most ${max} entries are supported.`);
}
