import { camelCase } from "@tidings/database/camel-case";
import type { ColumnType } from "@tidings/resource/columns";
import type { Filterable, Near } from "@tidings/resource/condition";
import { columnCommand, type SearchCommand } from "@tidings/resource/search";
import { type TotalByColumn, totalByColumn } from "@tidings/resource/totals-by-column";
import { sql } from "kysely";
import type { FieldSet } from "../field/catalogue.ts";
import { fieldExpression } from "../field/expression.ts";
import type { RecordColumn } from "../rows/table.ts";

const TYPES: Record<string, ColumnType> = {
  integer: "integer",
  boolean: "boolean",
  timestamptz: "timestamp",
  numeric: "double",
  text: "text",
};

/** Columns of the table `alias` as clients name them: `date_added`, `dateAdded` and every field alias. */
export function filterableRecordColumns(
  alias: string,
  columns: RecordColumn[],
  hidden: ReadonlySet<string>,
  set: FieldSet,
  { near, totals }: { near?: Near; totals: Readonly<Record<string, TotalByColumn>> },
): Map<string, Filterable> {
  const filterable = new Map<string, Filterable>();
  for (const { name, sqlType } of columns) {
    if (hidden.has(name)) continue;
    const type = TYPES[sqlType] ?? "text";
    // The name of the creator is a text, too, but no field.
    const isSearched = type === "text" && set.byAlias.has(name);
    const total = Object.hasOwn(totals, name) ? totals[name] : undefined;
    const entry = {
      sql: sql.ref(`${alias}.${name}`),
      type,
      near: isSearched ? near : undefined,
      total: total && ((value: string | boolean | null) => totalByColumn(total, value)),
    };
    filterable.set(name, entry).set(camelCase(name), entry);
  }
  for (const field of set.fields) {
    if (field.isColumn) continue;
    const expression = fieldExpression(field);
    filterable.set(field.alias, { ...expression, near: expression.type === "text" ? near : undefined });
  }
  return filterable;
}

/** A search command for every field: its value, as text. */
export function fieldCommands(set: FieldSet, near?: Near): [string, SearchCommand][] {
  return set.fields.map((field) => {
    const { sql: value, type } = fieldExpression(field);
    return [field.alias, columnCommand(sql`${value}::text`, type === "text" ? near : undefined)];
  });
}
