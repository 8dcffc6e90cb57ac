import { create } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import { type FormedJson, FormedJsonSchema } from "@tidings/proto/tidings/type/v1/formed_json";
import { fill, SEPARATOR } from "@tidings/rpc/formed-json";
import { FIELD_GROUPS, type FieldObject, type ShownField } from "./shown-field.ts";

/** The published fields of contacts, or of companies, in the order they are shown. */
export interface ShownFields {
  object: FieldObject;
  fields: ShownField[];
}

/** Writes the `fields` of a contact or a company. All but the values is made beforehand, once a catalogue. */
export interface FieldsWriter {
  /** The groups and the flat map `all`. */
  alone(row: Row): FormedJson;
  /** The same for the messages of one answer: what is constant in them comes with the first. */
  together(): (row: Row) => FormedJson;
  /** The groups without the braces around them: `"core":{...},"social":{...}`. */
  groups(row: Row): string;
  /** The id and the flat map without the braces around it: `"id":1,"firstname":"Ada"`. */
  flat(row: Row): string;
}

interface Form {
  constants: string;
  slots: number[];
}

/** A field and where its value stands among the values; the same one twice unless it is shown in another way. */
interface Placed {
  field: ShownField;
  value: number;
  normalized: number;
}

export function fieldsWriter(set: ShownFields): FieldsWriter {
  const { placed, values } = place(set);
  const groups = groupsText(set, placed);
  const all = placed.map(({ field, value }) => `,${JSON.stringify(field.alias)}:${slot(value)}`).join("");
  const flat = `"id":${slot(ID)}${all}`;
  const form = formOf(`{${groups},"all":{${flat}}}`);
  const [groupsForm, flatForm] = [formOf(groups), formOf(flat)];
  return {
    alone: (row) => create(FormedJsonSchema, { values: fill(form, values(row)) }),
    together() {
      let isFirst = true;
      return (row) => {
        const own = isFirst && { form };
        isFirst = false;
        return create(FormedJsonSchema, { ...own, values: values(row) });
      };
    },
    groups: (row) => fill(groupsForm, values(row)),
    flat: (row) => fill(flatForm, values(row)),
  };
}

/** The record's id is the first of its values. */
const ID = 0;

function place({ fields }: ShownFields): { placed: Placed[]; values(row: Row): string } {
  const writers: ((row: Row) => string)[] = [(row) => row.id ?? "null"];
  const add = ({ alias }: ShownField, write: (text: string) => string) =>
    writers.push((row) => {
      const text = row[alias];
      return text === null || text === undefined ? "null" : write(text);
    }) - 1;
  const placed = fields.map((field) => {
    const value = add(field, valueWriter(field));
    const normalized = normalizedWriter(field);
    return { field, value, normalized: normalized ? add(field, normalized) : value };
  });
  return { placed, values: (row) => writers.map((write) => write(row)).join(SEPARATOR) };
}

/** A place for a value in the text of a form. */
function slot(value: number): string {
  return `${SEPARATOR}${value}${SEPARATOR}`;
}

function formOf(text: string): Form {
  const parts = text.split(SEPARATOR);
  return {
    constants: parts.filter((_, index) => index % 2 === 0).join(SEPARATOR),
    slots: parts.filter((_, index) => index % 2 === 1).map(Number),
  };
}

function groupsText(set: ShownFields, placed: Placed[]): string {
  const texts = groupsOf(set).map((group) => {
    const entries = placed.filter(({ field }) => groupOf(field) === group).map(entryText);
    return `"${group}":{${entries.join(",")}}`;
  });
  return texts.join(",");
}

const COMPANY_GROUPS = ["core", "professional", "other"];

function groupsOf({ object }: ShownFields): readonly string[] {
  return object === "lead" ? FIELD_GROUPS : COMPANY_GROUPS;
}

/** Companies know fewer groups than contacts. */
function groupOf({ object, group }: ShownField): string {
  return object === "lead" || COMPANY_GROUPS.includes(group) ? group : "other";
}

function entryText({ field, value, normalized }: Placed): string {
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
  const opening = `${JSON.stringify(field.alias)}:${JSON.stringify(definition).slice(0, -1)}`;
  return `${opening},"value":${slot(value)},"normalizedValue":${slot(normalized)}}`;
}

/** A column's text as JSON: numbers and switches as numbers, date-times as `Y-m-d H:i:s`, all else a string. */
function valueWriter({ type }: ShownField): (text: string) => string {
  if (type === "number" || type === "boolean") return (text) => String(Number(text));
  if (type === "datetime") return (text) => `"${text.slice(0, 19)}"`;
  return (text) => JSON.stringify(text);
}

/** Options are shown by their labels. */
function normalizedWriter({ type, properties }: ShownField): ((text: string) => string) | undefined {
  if (type !== "select" && type !== "multiselect") return undefined;
  const labels = new Map(properties.list?.map(({ value, label }) => [value, label]));
  return (text) => {
    const values = type === "select" ? [text] : text.split("|");
    return JSON.stringify(values.map((value) => labels.get(value) ?? value).join("|"));
  };
}
