import type { Transaction } from "@tidings/database/transaction";
import { SHARED_LOCK_WAIT_MS, sharedWrites } from "@tidings/resource/shared-writes";
import type { Call } from "@tidings/rpc/call";
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
  const share = sharedWrites<ReadItems<M, C>, SaveOutcome>(
    (reads, call) => write({ ...reads[0], items: reads.flatMap(({ items }) => items), call }, true),
    ({ catalogue }) => String(catalogue.revision),
  );
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
