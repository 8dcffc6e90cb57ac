import { mayBeCommitted } from "@tidings/database/failure";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { coalesce } from "@tidings/runtime/coalesce";
import { keptTraceparent } from "@tidings/runtime/telemetry";
import type { SaveOutcome } from "./kind.ts";
import type { ReadItems } from "./read-items.ts";

/** Two, so that one may wait for the disk while the other works. */
const AT_ONCE = 2;
const ITEMS_MAX = 32;

type Write<M, C> = (read: ReadItems<M, C>, isShared: boolean) => Promise<(SaveOutcome | undefined)[]>;

/**
 * Writes single items of one caller that come at the same time in one transaction: under load a write costs a fraction of what
 * it costs alone. The answer is undefined for what has to be written alone: another item wanted the same record, or the
 * transaction failed, perhaps for one of the others.
 */
export function sharedWrites<M, C>(
  write: Write<M, C>,
): (own: ReadItems<M, C>) => Promise<SaveOutcome | undefined> {
  const ask = coalesce((reads: ReadItems<M, C>[]) => writeShared(write, reads), {
    atOnce: AT_ONCE,
    itemsMax: ITEMS_MAX,
  });
  return async (own) => (await ask(keyOf(own), own)).get(own);
}

async function writeShared<M, C>(
  write: Write<M, C>,
  reads: ReadItems<M, C>[],
): Promise<ReadonlyMap<ReadItems<M, C>, SaveOutcome | undefined>> {
  const [first] = reads;
  if (!first) return new Map();
  const items = reads.flatMap((own) => own.items);
  const deadlineMs = Math.max(...reads.map(({ call }) => call.deadlineMs));
  try {
    const outcomes = await write({ ...first, items, call: { ...first.call, deadlineMs } }, true);
    return new Map(reads.map((own, index) => [own, outcomes[index]]));
  } catch (error) {
    if (reads.length === 1 || mayBeCommitted(error)) throw error;
    return new Map();
  }
}

/** The key of a batch: same actor, same rights, same revision of the fields, no trace that is recorded. */
function keyOf<M, C>({ catalogue, call: { actor, reach } }: ReadItems<M, C>): string {
  const rights = [Verb.VIEW, Verb.EDIT, Verb.CREATE].map(reach);
  return [
    catalogue.revision,
    ...rights,
    keptTraceparent(),
    actor.kind,
    actor.id,
    actor.clientId,
    actor.name,
  ].join(" ");
}
