import type { Row } from "@tidings/database/statement";
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
