import type { Row } from "@tidings/database/statement";
import { dateTimeText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { unexpected } from "@tidings/rpc/expected";
import { denied, Fault, notFound, taken } from "@tidings/rpc/fault";
import { assertCurrent, type FieldCatalogue, type FieldSet } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { claimOf, claimsOf, valueClaims } from "./identifier.ts";
import type { RecordChange, RecordKind, RowChange, SaveOutcome, SaveRequest } from "./kind.ts";
import { mayReach, type OwnerColumn } from "./reach.ts";
import type { Item } from "./read.ts";

/** Everything that the items of a batch have in common. */
export interface Batch<M, C extends RecordChange, L> {
  kind: RecordKind<M, C, L>;
  catalogue: FieldCatalogue;
  set: FieldSet;
  transaction: Transaction;
  call: Call;
  /** Are these the items of several calls? */
  isShared: boolean;
}

export interface Decision<L> {
  /** Undefined for a shared item that wants a record which another one changes. */
  outcomes: (SaveOutcome | undefined)[];
  changes: RowChange[];
  lookups: L;
}

/** Locks and reads all that the items touch, in one round trip, and decides in their order what becomes of each. */
export async function decide<M, C extends RecordChange, L>(
  batch: Batch<M, C, L>,
  items: Item<M, C>[],
): Promise<Decision<L>> {
  const { kind, set, call, isShared } = batch;
  const { drafts, lookups } = await loadBatch(batch, items);
  const now = dateTimeText(Date.now());

  const outcomeOf = ({ request, mode, change, unknown, fault }: Item<M, C>): SaveOutcome | undefined => {
    if (fault) return { fault };
    const known = drafts.find(request, valueClaims(set, change.values));
    if (isShared && known?.isChanged) return undefined;
    const refusal = refusalOf({ request, type: kind.type }, known?.row, kind.ownerColumn, call);
    if (refusal) return { fault: refusal };
    const draft = known ?? drafts.create();
    const applied = kind.apply({ row: draft.row, isNew: !known, mode, change, set, now, call, lookups });
    if (applied instanceof Fault) return { fault: applied };
    if (applied === "unchanged") return { row: draft.row, created: false, ignored: unknown };
    const rival = drafts.rivalOf(applied);
    if (rival) return { fault: taken([{ field: rival, message: "This field must be unique." }]) };
    drafts.keep(draft, applied);
    return { row: applied, created: !known, ignored: unknown };
  };
  return { outcomes: items.map(outcomeOf), changes: drafts.changes(), lookups };
}

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

/** A record as it was and as the items so far have made it. */
interface Draft extends RowChange {
  isChanged: boolean;
}

/** The records of a batch while it is worked on. */
function draftsOf(rows: Row[], newIds: Row[], set: FieldSet, empty: Row) {
  const drafts = new Map<number, Draft>(
    rows.map((row) => [Number(row.id), { before: row, row, isChanged: false }]),
  );
  const ownerOf = new Map(
    rows.flatMap((row) => claimsOf(set, row)).map(({ key, recordId }) => [key, recordId]),
  );
  const unused = newIds.values();

  /** The newest record that has one of the identifiers. */
  const match = (claims: { key: string }[]): number | undefined => {
    const found = claims.flatMap(({ key }) => ownerOf.get(key) ?? []);
    const age = (id: number) => drafts.get(id)?.row.date_added ?? "";
    return found.sort((a, b) => (age(a) < age(b) ? 1 : age(a) > age(b) ? -1 : b - a))[0];
  };

  return {
    /** By its id; without one, or where the id is nobody's and may be missing, by what it claims. */
    find({ id, allowMissing, isNew }: SaveRequest<unknown>, claims: { key: string }[]): Draft | undefined {
      if (isNew) return undefined;
      const byId = id === undefined ? undefined : drafts.get(id);
      if (byId || (id !== undefined && !allowMissing)) return byId;
      const found = match(claims);
      return found === undefined ? undefined : drafts.get(found);
    },
    create(): Draft {
      const { value } = unused.next();
      if (value === undefined) throw new Error("more records were made than ids were taken");
      return { before: undefined, row: { ...empty, id: value.id ?? "" }, isChanged: false };
    },
    /** The field whose value another record has. */
    rivalOf(row: Row): string | undefined {
      return set.identifiers.find((field) => {
        const claim = claimOf(field, row[field.alias]);
        const owner = claim && ownerOf.get(claim.key);
        return owner !== undefined && owner !== Number(row.id);
      })?.alias;
    },
    /** Makes a new state known to the items that follow. */
    keep(draft: Draft, row: Row): void {
      for (const { key, recordId } of claimsOf(set, draft.row)) {
        if (ownerOf.get(key) === recordId) ownerOf.delete(key);
      }
      for (const { key, recordId } of claimsOf(set, row)) ownerOf.set(key, recordId);
      Object.assign(draft, { row, isChanged: true });
      drafts.set(Number(row.id), draft);
    },
    changes: (): RowChange[] => [...drafts.values()].filter(({ isChanged }) => isChanged),
  };
}

/** Why this caller may not save the record; `row` is undefined when there is none yet. */
function refusalOf(
  { request, type }: { request: SaveRequest<unknown>; type: string },
  row: Row | undefined,
  owner: OwnerColumn,
  call: Call,
): Fault | undefined {
  if (!row) {
    if (request.id !== undefined && !request.allowMissing) return notFound();
    if (call.reach(Verb.CREATE) === "none") return denied();
    return request.id === undefined
      ? undefined
      : unexpected(request, type, { id: request.id, version: undefined });
  }
  if (!mayReach(call, Verb.VIEW, row, owner)) return row.id === String(request.id) ? notFound() : denied();
  if (!mayReach(call, Verb.EDIT, row, owner)) return denied();
  const id = request.id ?? Number(row.id);
  return unexpected(request, type, { id, version: Number(row.version) });
}
