import type { Row } from "@tidings/database/statement";
import type { Actor } from "@tidings/rpc/actor";
import type { FieldSet } from "../field/catalogue.ts";
import type { RecordTable } from "../rows/table.ts";
import type { RowChange } from "./kind.ts";

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

/** Gives a written record its stamps and version; the very same row when no column changed. */
export function stamped(table: RecordTable, { before, row }: RowChange, actor: Actor, now: string): Row {
  if (!before) return { ...row, date_added: now, created_by: idText(actor), created_by_user: actor.name };
  if (table.changedColumns(before, row).length === 0) return before;
  return edited(row, actor, now);
}

/** As changed by this actor. */
export function edited(row: Row, actor: Actor, now: string): Row {
  const version = String(Number(row.version) + 1);
  return { ...row, version, date_modified: now, modified_by: idText(actor), modified_by_user: actor.name };
}

function idText({ id }: Actor): string | null {
  return id === null ? null : String(id);
}
