import { closed, type Schema, TEXT } from "../route/schema.ts";
import type { Document } from "./document.ts";

/** A field of contacts or companies, as far as its values are described. */
export interface DescribedField {
  alias: string;
  label: string;
  type: string;
}

/** The fields of an installation, by the message that has them. */
export type FieldsOf = Partial<Record<"Contact" | "Company", DescribedField[]>>;

const NUMBERS = new Set(["number", "boolean"]);
const GROUPS: Record<string, string[]> = {
  Contact: ["core", "social", "personal", "professional"],
  Company: ["core", "professional", "other"],
};
const ANY_VALUE: Schema = { type: ["string", "number", "null"] };

/** The description of an installation: its contacts and companies have the fields that are known of them. */
export function withFields(document: Document, fields: FieldsOf): Document {
  const { schemas } = document.components;
  const typed = Object.entries(fields).flatMap(([name, known]) => [
    ...[name, `${name}Part`].map((each) => [
      each,
      extendedBy(schemas[each], { fields: describeFields(name, known) }),
    ]),
    [`${name}Input`, extendedBy(schemas[`${name}Input`], sentFields(known))],
  ]);
  return {
    ...document,
    components: { ...document.components, schemas: { ...schemas, ...Object.fromEntries(typed) } },
  };
}

function extendedBy(schema: Schema | undefined, properties: Record<string, Schema>): Schema {
  return { ...schema, properties: { ...(schema?.properties as Record<string, Schema>), ...properties } };
}

/** Blank values are skipped, numbers may come as text. */
function sentFields(known: DescribedField[]): Record<string, Schema> {
  return Object.fromEntries(
    known.map(({ alias, label, type }) => [alias, { ...sentType(type), title: label }]),
  );
}

/** The `fields` of a contact or a company; with any fields where none are known. */
export function describeFields(name: string, known?: DescribedField[]): Schema {
  const groups = GROUPS[name];
  if (!groups) throw new Error(`${name} has no fields of its own`);
  const entry = entryOf(ANY_VALUE);
  const group: Schema = { type: "object", additionalProperties: entry };
  const all = known
    ? closed(
        {
          id: { type: "integer" },
          ...Object.fromEntries(known.map((field) => [field.alias, typedValue(field)])),
        },
        known.map(({ alias }) => alias),
      )
    : { type: "object", additionalProperties: ANY_VALUE };
  return {
    ...closed({ ...Object.fromEntries(groups.map((each) => [each, group])), all }),
    examples: [exampleFields(name, groups)],
  };
}

/** A contact or a company with one field that has a value: every other field is answered in the same way. */
function exampleFields(name: string, groups: string[]): object {
  const [object, alias, label, value] =
    name === "Contact"
      ? ["lead", "firstname", "First Name", "Ada"]
      : ["company", "companyname", "Company Name", "Analytical Engines"];
  const field = {
    ...{ id: "1", label, alias, type: "text", group: "core", object, is_fixed: "1", field_order: "1" },
    ...{ properties: [], default_value: null, value, normalizedValue: value },
  };
  const entries = groups.map((group) => [group, group === "core" ? { [alias]: field } : {}]);
  return { ...Object.fromEntries(entries), all: { id: 1, [alias]: value } };
}

/** A field with its value. */
function entryOf(value: Schema): Schema {
  return closed({
    id: TEXT,
    label: TEXT,
    alias: TEXT,
    type: TEXT,
    group: TEXT,
    object: TEXT,
    is_fixed: { enum: ["0", "1"] },
    field_order: TEXT,
    properties: { type: ["object", "array"] },
    default_value: { type: ["string", "null"] },
    value,
    normalizedValue: value,
  });
}

/** Numbers and switches are answered as numbers, all else as text. */
function typedValue({ label, type }: DescribedField): Schema {
  return { type: [NUMBERS.has(type) ? "number" : "string", "null"], title: label };
}

function sentType(type: string): Schema {
  if (type === "multiselect") return { type: ["string", "array", "null"] };
  return { type: NUMBERS.has(type) ? ["number", "boolean", "string", "null"] : ["string", "number", "null"] };
}
