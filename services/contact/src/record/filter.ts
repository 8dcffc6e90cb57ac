import { camelCase } from "@tidings/store/camel-case";
import type { ColumnType } from "@tidings/store/columns";
import type { Filterable } from "@tidings/store/condition";
import { type RawBuilder, sql } from "kysely";
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
): Map<string, Filterable> {
  const filterable = new Map<string, Filterable>();
  for (const { name, sqlType } of columns) {
    if (hidden.has(name)) continue;
    const entry = { sql: sql.ref(`${alias}.${name}`), type: TYPES[sqlType] ?? "text" };
    filterable.set(name, entry).set(camelCase(name), entry);
  }
  for (const field of set.fields) if (!field.isColumn) filterable.set(field.alias, fieldExpression(field));
  return filterable;
}

/** Every field by its alias, as text to search in. */
export function searchableFields(set: FieldSet): [string, RawBuilder<unknown>][] {
  return set.fields.map((field) => [field.alias, sql`${fieldExpression(field).sql}::text`]);
}
