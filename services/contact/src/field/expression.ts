import type { FieldObject } from "@tidings/contacts/shown-field";
import type { ColumnType } from "@tidings/resource/columns";
import type { Filterable } from "@tidings/resource/condition";
import { type RawBuilder, sql } from "kysely";
import type { Field } from "./catalogue.ts";

/** The aliases that contacts and companies have in every statement. */
const TABLE: Record<FieldObject, string> = { lead: "c", company: "co" };

/**
 * A field's value as SQL, of the contact `c` or the company `co`: the one place that knows where a field is stored.
 * Numbers are numeric, dates and date-times timestamptz (a date is its midnight in UTC), booleans boolean, all else text.
 */
export function fieldExpression(field: Field): Filterable {
  return { sql: typedValue(field), type: COLUMN_TYPES.get(field.type) ?? "text", ...equality(field) };
}

const COLUMN_TYPES = new Map<string, ColumnType>([
  ["number", "double"],
  ["boolean", "boolean"],
  ["date", "timestamp"],
  ["datetime", "timestamp"],
]);

function typedValue(field: Field): RawBuilder<unknown> {
  const table = TABLE[field.object];
  if (field.isColumn) return sql.ref(`${table}.${field.alias}`);
  const text = customText(field);
  switch (field.type) {
    case "number":
      return sql`(${text})::numeric`;
    case "boolean":
      return sql`(${text})::boolean`;
    case "date":
    case "datetime":
      return sql`(${text})::timestamptz`;
    default:
      return text;
  }
}

function customText(field: Field): RawBuilder<unknown> {
  // An id from the catalogue, as a literal: a parameter would hide it from the planner.
  return sql`(${sql.ref(`${TABLE[field.object]}.custom`)} ->> ${sql.lit(String(field.id))})`;
}

/** Equality of added text fields, in a form that the one index over all of them serves. */
function equality(field: Field): Pick<Filterable, "equals"> {
  if (field.isColumn || COLUMN_TYPES.has(field.type)) return {};
  const custom = sql.ref(`${TABLE[field.object]}.custom`);
  return {
    equals: (value) =>
      sql`(${custom} <> '{}' and custom_terms(${custom}) @> array[custom_term(${sql.lit(String(field.id))}, ${value}::text)]
        and lower(${customText(field)}) = lower(${value}::text))`,
  };
}
