import { dateTimeText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import type { Call } from "@tidings/rpc/call";
import { Fault, taken } from "@tidings/rpc/fault";
import {
  assertCurrent,
  type FieldCatalogue,
  type FieldContext,
  type FieldSet,
  underCatalogue,
} from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { draftsOf, refusalOf } from "./drafts.ts";
import { isOutrun, valueClaims } from "./identifier.ts";
import type { RecordChange, RecordKind, SaveOutcome, SaveRequest } from "./kind.ts";
import { type Item, type ReadItems, readItems } from "./read-items.ts";
import { sharedWrites } from "./shared-writes.ts";
import { writeChanges } from "./write-changes.ts";

const ATTEMPTS = 6;

/** Saves records of one kind. */
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
    writeItems({ context, kind, catalogue, set: kind.fieldsOf(catalogue), call, isShared }, items);
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

async function writeItems<M, C extends RecordChange, L>(
  batch: Omit<Batch<M, C, L>, "transaction">,
  items: Item<M, C>[],
): Promise<(SaveOutcome | undefined)[]> {
  const { context, call, isShared } = batch;
  const options = isShared && items.length > 1 ? { lockWaitMs: SHARED_LOCK_WAIT_MS } : {};
  for (let attempt = 1; ; attempt += 1) {
    try {
      const work = (transaction: Transaction) => saveItems({ ...batch, transaction }, items);
      return await context.database.transaction(call.deadlineMs, work, options);
    } catch (error) {
      if (!isOutrun(error) || attempt === ATTEMPTS) throw error;
    }
  }
}

interface Batch<M, C extends RecordChange, L> {
  context: FieldContext;
  kind: RecordKind<M, C, L>;
  catalogue: FieldCatalogue;
  set: FieldSet;
  transaction: Transaction;
  call: Call;
  /** Are these the items of several calls? */
  isShared: boolean;
}

/** Each shared item changes a record of its own; undefined for an item that wants a record which another one changed. */
async function saveItems<M, C extends RecordChange, L>(
  batch: Batch<M, C, L>,
  items: Item<M, C>[],
): Promise<(SaveOutcome | undefined)[]> {
  const { kind, catalogue, set, transaction, call, context, isShared } = batch;
  const { drafts, lookups } = await loadBatch(batch, items);
  const now = dateTimeText(Date.now());

  const saveItem = ({ request, mode, change, unknown, fault }: Item<M, C>): SaveOutcome | undefined => {
    if (fault) return { fault };
    const known = drafts.find(request, valueClaims(set, change.values));
    if (isShared && known && known.row !== known.before) return undefined;
    const refusal = refusalOf({ request, type: kind.type }, known?.row, kind.ownerColumn, call);
    if (refusal) return { fault: refusal };
    const draft = known ?? drafts.create();
    const row = kind.apply({ row: draft.row, isNew: !known, mode, change, set, now, call, lookups });
    if (row instanceof Fault) return { fault: row };
    const rival = drafts.rivalOf(row);
    if (rival) return { fault: taken([{ field: rival, message: "This field must be unique." }]) };
    drafts.keep(draft, row);
    return { row, created: !known, ignored: unknown };
  };

  const outcomes = items.map(saveItem);
  const changes = drafts.changes();
  writeChanges(transaction, kind.table, set, changes);
  const writing = kind.writeRest(transaction, changes, lookups, catalogue);
  // Statements of one turn leave in one packet.
  if (writing) await writing;
  context.outbox.append(
    transaction,
    changes.map((change) => kind.event(change, set)),
  );
  return outcomes;
}

/** Locks and reads all that the items touch, in one round trip. */
async function loadBatch<M, C extends RecordChange, L>(
  { kind, catalogue, set, transaction, call }: Batch<M, C, L>,
  items: Item<M, C>[],
) {
  const usable = items.filter(({ fault }) => !fault);
  const ids = usable.flatMap(({ request }) => request.id ?? []);
  const claims = usable.flatMap(({ change }) => valueClaims(set, change.values));
  const creatable = usable.filter(({ request }) => request.id === undefined || request.allowMissing);
  const changes = usable.map(({ change }) => change);
  // Rows are locked before tags and addresses are made: all transactions wait for them in this order.
  const [rows, lookups, newIds] = await Promise.all([
    kind.table.lock(transaction, ids, claims),
    kind.lookUp(transaction, changes, call),
    kind.table.nextIds(transaction, creatable.length),
  ]);
  assertCurrent(catalogue, [...rows, ...newIds]);
  const complete = rows.map((row) => withCustomValues(row, set));
  return { lookups, drafts: draftsOf(complete, newIds, set, kind.empty) };
}
