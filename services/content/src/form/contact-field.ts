import { type Database, prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import type { Projection } from "@tidings/projection/projection";
import { replicate } from "@tidings/projection/replicate";
import { type Field, FieldSchema } from "@tidings/proto/tidings/contact/v1/field";
import type { Form, FormField } from "@tidings/proto/tidings/content/v1/form";
import { awaitNewest } from "@tidings/resource/await-rows";
import { isObject, jsonBytes, jsonOf } from "@tidings/resource/json-member";
import { propertiesOf } from "@tidings/resource/properties";
import { textOf } from "@tidings/runtime/plain-text";
import { isGroup } from "./input-html.ts";
import { type Option, options } from "./options.ts";

/** A field of contacts or companies that what is sent with a form may be meant for. */
export interface ContactField {
  object: "contact" | "company";
  type: string;
  /** Its choices, where its type has some. */
  choices: Option[];
}

/** By alias, which no two fields of either object share. */
export type ContactFields = ReadonlyMap<string, ContactField>;

/** The table `contact_fields`: which fields there are. A form that names one that is gone keeps its name, and nothing comes of it. */
export const contactFields: Projection = replicate(FieldSchema, {
  table: "contact_fields",
  columns: { object: "text", alias: "text", type: "text", properties: "jsonb" },
  row: ({ object, alias, type, properties }: Field) => ({
    object: object === "company" ? "company" : "contact",
    alias,
    type,
    properties: jsonOf(properties) ?? {},
  }),
});

const readStatement = prepared(
  "contact_fields_read",
  "select alias, object, type, properties from contact_fields where alias = any((select $1::text[])::text[])",
);

/** The fields that those of these forms are mapped to. */
export async function mappedFields(
  { query }: Queryable,
  forms: (Form | undefined)[],
): Promise<ContactFields> {
  const aliases = aliasesIn(forms);
  if (aliases.length === 0) return new Map();
  const rows = await query(readStatement, [aliases]);
  return new Map(
    rows.map(({ alias, object, type, properties }) => [
      alias ?? "",
      {
        object: object === "company" ? "company" : "contact",
        type: type ?? "",
        choices: choicesIn(type ?? "", JSON.parse(properties ?? "{}")),
      },
    ]),
  );
}

/** Where a list is one of a contact's, the form has that one as it is now. */
export function withSyncedLists(form: Form, fields: ContactFields): Form {
  return { ...form, fields: form.fields.map((field) => withSyncedList(field, fields)) };
}

function withSyncedList(field: FormField, fields: ContactFields): FormField {
  const { choices: list = [] } = (isSynced(field) && fields.get(field.mappedField ?? "")) || {};
  if (list.length === 0) return field;
  const properties = { ...propertiesOf(field), [isGroup(field) ? "optionlist" : "list"]: { list } };
  return { ...field, properties: jsonBytes(properties) };
}

export function isSynced(field: FormField): boolean {
  return Boolean(field.mappedField) && propertiesOf(field).syncList === 1;
}

/** Asks for fields that forms are mapped to and that are not known yet. Throws UNAVAILABLE when their owner is away. */
export async function awaitFields(
  database: Database,
  forms: (Form | undefined)[],
  deadlineMs: number,
): Promise<void> {
  const query: Queryable["query"] = (statement, values = []) => database.query(statement, values, deadlineMs);
  const known = await mappedFields({ query }, forms);
  if (known.size < aliasesIn(forms).length) await awaitNewest(database, "contact_fields", deadlineMs);
}

function aliasesIn(forms: (Form | undefined)[]): string[] {
  const fields = forms.flatMap((form) => form?.fields ?? []);
  const named = fields.flatMap(({ mappedField, leadField }) => [mappedField ?? "", leadField ?? ""]);
  return [...new Set(named.filter((alias) => alias !== ""))];
}

function choicesIn(type: string, properties: unknown): Option[] {
  if (!isObject(properties)) return [];
  const { list, yes, no } = properties;
  if (type === "boolean") return [optionOf(no, "0"), optionOf(yes, "1")];
  return (options(list) as { list: Option[] } | undefined)?.list ?? [];
}

function optionOf(label: unknown, value: string): Option {
  return { label: textOf(label) ?? value, value };
}
