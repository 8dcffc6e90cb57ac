import { badRequest } from "@tidings/rpc/fault";

/** The memory that an answer of many records takes is bounded. */
const BATCH_MAX = 1_000;

/** Throws INVALID_ARGUMENT when more records are asked for than one answer holds. */
export function limitBatch(count: number): void {
  if (count > BATCH_MAX) throw badRequest(`At most ${BATCH_MAX} records are read at once.`);
}
