import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Actor } from "@tidings/rpc/actor";
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
  const rows = changes.filter(({ before }) => !before).map(({ row }) => row);
  const edits = changes.flatMap(({ before, row }) => (before ? [{ before, row }] : []));
  const claims = (row: Row) => claimsOf(set, row);
  table.release(
    transaction,
    edits.flatMap(({ before, row }) => missingClaims(claims(before), claims(row))),
  );
  const ofAdded = rows.flatMap(claims);
  const ofEdits = edits.flatMap(({ before, row }) => missingClaims(claims(row), claims(before)));
  table.insert(transaction, rows, ofEdits.length === 0 ? ofAdded : []);
  table.update(transaction, edits);
  if (ofEdits.length > 0) table.claim(transaction, [...ofAdded, ...ofEdits]);
}

const STAMPS = new Set(["version", "date_modified", "modified_by", "modified_by_user", "custom", "name_key"]);

/** The columns and the aliases of added fields in which two states of a record differ, without its stamps. */
export function changedNames(
  table: RecordTable,
  { before, row }: Required<RowChange> & { before: Row },
  set: FieldSet,
): string[] {
  const isChanged = (name: string) => (before[name] ?? null) !== (row[name] ?? null);
  return [
    ...table.changedColumns(before, row).filter((name) => !STAMPS.has(name)),
    ...set.custom.map(({ alias }) => alias).filter(isChanged),
  ];
}

/** A new record with the stamps of its actor. */
export function added(row: Row, actor: Actor, now: string): Row {
  return { ...row, date_added: now, created_by: idText(actor), created_by_user: actor.name };
}

/** A changed record with the stamps of its actor, and its next version. */
export function edited(row: Row, actor: Actor, now: string): Row {
  const version = String(Number(row.version) + 1);
  return { ...row, version, date_modified: now, modified_by: idText(actor), modified_by_user: actor.name };
}

function idText({ id }: Actor): string | null {
  return id === null ? null : String(id);
}
