import type { Row } from "@tidings/database/statement";
import type { Violation } from "@tidings/rpc/fault";
import type { FieldSet } from "./catalogue.ts";
import { isOption, readFieldValue } from "./value.ts";

/** `replace` is PUT: fields that are not sent are cleared. */
export type ChangeMode = "create" | "patch" | "replace";

/** Values to set by field alias, in the text form of their columns; null clears. */
export type FieldValues = Map<string, string | null>;

/** Reads the members of a body that name fields. The others are ignored; every bad value is reported. */
export function readFieldValues(
  sent: Record<string, unknown>,
  options: { set: FieldSet; mode: ChangeMode; writesBlanks: boolean; keptByReplace: ReadonlySet<string> },
  violations: Violation[],
): FieldValues {
  const { set, mode, writesBlanks, keptByReplace } = options;
  const values: FieldValues = new Map();
  for (const field of set.fields) {
    const isSent = Object.hasOwn(sent, field.alias);
    if (!isSent && (mode !== "replace" || keptByReplace.has(field.alias))) continue;
    const read = readFieldValue(field, sent[field.alias]);
    if ("problem" in read) violations.push({ field: field.alias, message: read.problem });
    else if (read.value !== null || writesBlanks || mode === "replace") values.set(field.alias, read.value);
  }
  return values;
}

/** The members that the set does not know as fields. It may be out of date. */
export function unknownFields(sent: Record<string, unknown>, set: FieldSet): string[] {
  return Object.keys(sent).filter((name) => !set.byAlias.has(name));
}

/** Puts the values of added fields beside those of the shipped ones, under their aliases. */
export function withCustomValues(row: Row, set: FieldSet): Row {
  if (row.custom === "{}" || !row.custom) return row;
  const values: Record<string, string> = JSON.parse(row.custom);
  const complete = { ...row };
  for (const { id, alias } of set.custom) complete[alias] = values[id] ?? null;
  return complete;
}

/** The opposite: what the column `custom` has to hold. */
function customText(row: Row, set: FieldSet): string {
  const entries = set.custom.flatMap(({ id, alias }) => (row[alias] ? [[id, row[alias]]] : []));
  return JSON.stringify(Object.fromEntries(entries));
}

/** Sets values in a row; a new one gets the defaults first. Stored options that exist no more are dropped. */
export function setFieldValues(row: Row, values: FieldValues, set: FieldSet, isNew: boolean): void {
  const before = { ...row };
  for (const { alias, type, defaultValue, properties } of set.fields) {
    if (isNew && defaultValue !== null) row[alias] = defaultValue;
    const stored = row[alias];
    if (type === "select" && stored && !isOption(properties.list, stored)) row[alias] = null;
  }
  for (const [alias, value] of values) row[alias] = value;
  const isChanged = set.custom.some(({ alias }) => (row[alias] ?? null) !== (before[alias] ?? null));
  if (isChanged) row.custom = customText(row, set);
}

/** Required fields that would be blank, as far as the body had to name them. */
export function missingValues(row: Row, sent: ReadonlySet<string> | "all", set: FieldSet): Violation[] {
  return set.fields
    .filter(({ alias, isRequired }) => isRequired && !row[alias] && (sent === "all" || sent.has(alias)))
    .map(({ alias }) => ({ field: alias, message: "This field is required." }));
}
