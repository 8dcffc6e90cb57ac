import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { unexpected } from "@tidings/rpc/expected";
import { Fault } from "@tidings/rpc/fault";
import type { FieldSet } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import type { RecordTable } from "../rows/table.ts";
import { type OwnerColumn, rowOrFault } from "./reach.ts";

export type RemoveOutcome = { row: Row } | { fault: Fault };

interface RemovableKind {
  /** The message of a record. */
  type: string;
  table: RecordTable;
  set: FieldSet;
  ownerColumn: OwnerColumn;
}

/** Locks records that are to be deleted, each on its own: every one as it was, or why it stays. */
export async function lockRemovable(
  transaction: Transaction,
  { type, table, set, ownerColumn }: RemovableKind,
  ids: number[],
  call: Call,
): Promise<{ outcomes: RemoveOutcome[]; removed: Row[] }> {
  const rows = await table.lock(transaction, ids, []);
  const known = new Map(rows.map((row) => [Number(row.id), withCustomValues(row, set)]));
  const outcomes = ids.map((id): RemoveOutcome => {
    const row = rowOrFault(call, Verb.DELETE, known.get(id), ownerColumn);
    if (row instanceof Fault) return { fault: row };
    const fault = unexpected(call, type, { id, version: Number(row.version) });
    if (fault) return { fault };
    known.delete(id); // named twice, deleted once
    return { row };
  });
  return { outcomes, removed: outcomes.flatMap((outcome) => ("row" in outcome ? [outcome.row] : [])) };
}
