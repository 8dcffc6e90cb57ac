import { mayBeCommitted } from "@tidings/database/failure";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { keptTraceparent } from "@tidings/runtime/telemetry";
import { type FieldCatalogue, type FieldContext, underCatalogue } from "../field/catalogue.ts";
import { type Batch, decide } from "./decide.ts";
import { isOutrun } from "./identifier.ts";
import type { RecordChange, RecordKind, SaveOutcome, SaveRequest } from "./kind.ts";
import { type Item, type ReadItems, readItems } from "./read.ts";
import { writeChanges } from "./write.ts";

const ATTEMPTS = 6;

/** Saves records of one kind: reads what bodies ask for (`read.ts`), decides on locked rows (`decide.ts`), and writes (`write.ts`). */
export interface RecordSaver<M> {
  /**
   * Saves records, each on its own: a bad one fails alone. The whole batch is two round trips however large it is: one
   * that locks everything the batch touches, one that writes it together with its events.
   */
  many(requests: SaveRequest<M>[], call: Call): Promise<SaveOutcome[]>;
  /** Saves one record: with others that the same caller sends meanwhile, as far as they have nothing to do with each other. */
  one(request: SaveRequest<M>, call: Call): Promise<SaveOutcome>;
}

export function recordSaver<M, C extends RecordChange, L>(
  context: FieldContext,
  kind: RecordKind<M, C, L>,
): RecordSaver<M> {
  const read = (requests: SaveRequest<M>[], current: FieldCatalogue, call: Call) =>
    readItems(context, kind, requests, current, call);
  const write = ({ catalogue, items, call }: ReadItems<M, C>, isShared: boolean) =>
    saveItems(context, { kind, catalogue, set: kind.fieldsOf(catalogue), call, isShared }, items);
  const share = sharedWrites(write);
  return {
    many: (requests, call) =>
      underCatalogue(context.catalogues, async (current) =>
        known(await write(await read(expecting(requests, call), current, call), false)),
      ),
    one: (request, call) =>
      underCatalogue(context.catalogues, async (current) => {
        const own = await read(expecting([request], call), current, call);
        const [outcome] = known([(await share(own)) ?? (await write(own, false))[0]]);
        if (!outcome) throw new Error("one record has one outcome");
        return outcome;
      }),
  };
}

function expecting<M>(requests: SaveRequest<M>[], { expected }: Call): SaveRequest<M>[] {
  return expected ? requests.map((request) => ({ ...request, expected })) : requests;
}

/** Undefined for an item that must be saved alone; a batch of one caller has none. */
function known(outcomes: (SaveOutcome | undefined)[]): SaveOutcome[] {
  return outcomes.flatMap((outcome) => outcome ?? []);
}

/** How long a write waits for a row that somebody else has, while others that do not want that row wait with it. */
const SHARED_LOCK_WAIT_MS = 100;

/** One transaction, which is tried again where another one took an identifier meanwhile. */
async function saveItems<M, C extends RecordChange, L>(
  context: FieldContext,
  batch: Omit<Batch<M, C, L>, "transaction">,
  items: Item<M, C>[],
): Promise<(SaveOutcome | undefined)[]> {
  const { kind, set, catalogue, call, isShared } = batch;
  const options = isShared && items.length > 1 ? { lockWaitMs: SHARED_LOCK_WAIT_MS } : {};
  const work = async (transaction: Transaction) => {
    const { outcomes, changes, lookups } = await decide({ ...batch, transaction }, items);
    writeChanges(transaction, kind.table, set, changes);
    const writing = kind.writeRest(transaction, changes, lookups, catalogue);
    // Statements of one turn leave in one packet.
    if (writing) await writing;
    context.outbox.append(
      transaction,
      changes.map((change) => kind.event(change, set)),
    );
    return outcomes;
  };
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await context.database.transaction(call.deadlineMs, work, options);
    } catch (error) {
      if (!isOutrun(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

/** Two, so that one may wait for the disk while the other works. */
const AT_ONCE = 2;
const ITEMS_MAX = 32;

type Write<M, C> = (read: ReadItems<M, C>, isShared: boolean) => Promise<(SaveOutcome | undefined)[]>;

/**
 * Writes single items of one caller that come at the same time in one transaction: under load a write costs a fraction of what
 * it costs alone. The answer is undefined for what has to be written alone: another item wanted the same record, or the
 * transaction failed, perhaps for one of the others.
 */
function sharedWrites<M, C>(write: Write<M, C>): (own: ReadItems<M, C>) => Promise<SaveOutcome | undefined> {
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
