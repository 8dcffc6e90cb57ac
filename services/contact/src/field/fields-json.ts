import type { Row } from "@tidings/store/database";
import { FIELD_GROUPS, type Field, type FieldSet } from "./catalogue.ts";

/** Writes the `fields` of a contact or a company. All but the values is text made beforehand, once a catalogue. */
export interface FieldsWriter {
  /** The groups without the braces around them: `"core":{...},"social":{...}`. */
  groups(row: Row): string;
  /** The groups and the flat map `all`. */
  json(row: Row): Buffer;
}

export function fieldsWriter(set: FieldSet): FieldsWriter {
  const groups = groupsWriter(set);
  const all = flatWriter(set);
  return { groups, json: (row) => Buffer.from(`{${groups(row)},"all":{"id":${row.id}${all(row)}}}`) };
}

function groupsWriter(set: FieldSet): (row: Row) => string {
  const groups = groupsOf(set).map((group) => ({
    opening: `"${group}":{`,
    fields: set.fields.filter((field) => groupOf(field) === group).map(entryWriter),
  }));
  return (row) => {
    let text = "";
    for (const { opening, fields } of groups) {
      text += text === "" ? opening : `,${opening}`;
      let separator = "";
      for (const write of fields) {
        text += separator + write(row);
        separator = ",";
      }
      text += "}";
    }
    return text;
  };
}

const COMPANY_GROUPS = ["core", "professional", "other"];

function groupsOf({ object }: FieldSet): readonly string[] {
  return object === "lead" ? FIELD_GROUPS : COMPANY_GROUPS;
}

/** Companies know fewer groups than contacts. */
function groupOf({ object, group }: Field): string {
  return object === "lead" || COMPANY_GROUPS.includes(group) ? group : "other";
}

function entryWriter(field: Field): (row: Row) => string {
  const definition = {
    id: String(field.id),
    label: field.label,
    alias: field.alias,
    type: field.type,
    group: field.group,
    object: field.object,
    is_fixed: field.isFixed ? "1" : "0",
    field_order: String(field.order),
    properties: Object.keys(field.properties).length > 0 ? field.properties : [],
    default_value: field.defaultValue,
  };
  const opening = `${JSON.stringify(field.alias)}:${JSON.stringify(definition).slice(0, -1)},"value":`;
  const unset = `${opening}null,"normalizedValue":null}`;
  const value = valueWriter(field);
  const normalized = normalizedWriter(field);
  return (row) => {
    const text = row[field.alias];
    if (text === null || text === undefined) return unset;
    const json = value(text);
    return `${opening}${json},"normalizedValue":${normalized ? normalized(text) : json}}`;
  };
}

function flatWriter(set: FieldSet): (row: Row) => string {
  const fields = set.fields.map((field) => ({
    alias: field.alias,
    opening: `,${JSON.stringify(field.alias)}:`,
    value: valueWriter(field),
  }));
  return (row) => {
    let text = "";
    for (const { alias, opening, value } of fields) {
      const column = row[alias];
      text += opening + (column === null || column === undefined ? "null" : value(column));
    }
    return text;
  };
}

/** A column's text as JSON: numbers and switches as numbers, date-times as `Y-m-d H:i:s`, all else a string. */
function valueWriter({ type }: Field): (text: string) => string {
  if (type === "number" || type === "boolean") return (text) => String(Number(text));
  if (type === "datetime") return (text) => `"${text.slice(0, 19)}"`;
  return (text) => JSON.stringify(text);
}

/** Options are shown by their labels. */
function normalizedWriter({ type, properties }: Field): ((text: string) => string) | undefined {
  if (type !== "select" && type !== "multiselect") return undefined;
  const labels = new Map(properties.list?.map(({ value, label }) => [value, label]));
  return (text) => {
    const values = type === "select" ? [text] : text.split("|");
    return JSON.stringify(values.map((value) => labels.get(value) ?? value).join("|"));
  };
}
