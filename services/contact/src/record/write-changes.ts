import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { FieldSet } from "../field/catalogue.ts";
import type { RecordTable } from "../rows/table.ts";
import { claimsOf, missingClaims } from "./identifier.ts";
import type { RowChange } from "./kind.ts";

/**
 * Writes records and what they claim: values given up first, so that another record of the batch can take them. All claims are one statement, in the
 * order of the values, so that two batches with the same new values never wait for each other.
 */
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
  const ofAdded = added.flatMap(claims);
  const ofEdits = edits.flatMap(({ before, row }) => missingClaims(claims(row), claims(before)));
  table.insert(transaction, added, ofEdits.length === 0 ? ofAdded : []);
  table.update(transaction, edits);
  if (ofEdits.length > 0) table.claim(transaction, [...ofAdded, ...ofEdits]);
}
