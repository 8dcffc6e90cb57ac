import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { FieldSet } from "../field/catalogue.ts";
import type { RecordTable } from "../rows/table.ts";
import { claimsOf, missingClaims } from "./identifier.ts";
import type { RowChange } from "./kind.ts";

/** Writes records and what they claim: values given up first, so that another record of the batch can take them. */
export function writeChanges(
  transaction: Transaction,
  table: RecordTable,
  set: FieldSet,
  changes: RowChange[],
): void {
  const added = changes.filter(({ before }) => !before).map(({ row }) => row);
  const edits = changes.flatMap(({ before, row }) => (before ? [{ before, row }] : []));
  const claims = (row: Row) => claimsOf(set, row);
  table.release(
    transaction,
    edits.flatMap(({ before, row }) => missingClaims(claims(before), claims(row))),
  );
  table.insert(transaction, added, added.flatMap(claims));
  table.update(transaction, edits);
  table.claim(
    transaction,
    edits.flatMap(({ before, row }) => missingClaims(claims(row), claims(before))),
  );
}
