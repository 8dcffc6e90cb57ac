import type { Form, FormField } from "@tidings/proto/tidings/content/v1/form";
import { freeAlias } from "@tidings/resource/alias";
import { FIELD_WORD_MAX, fieldWord } from "@tidings/resource/field-word";
import { isNothing, isObject, jsonOf, kept, notValid } from "@tidings/resource/json-member";
import { resolveProperties } from "@tidings/resource/properties";
import { badRequest, type Fault, notOneOf, type Violation } from "@tidings/rpc/fault";
import { textOf } from "@tidings/runtime/plain-text";
import type { ContactFields } from "./contact-field.ts";
import { FIELD_PROPERTIES } from "./field-types.ts";

/** Names that mean something else in what is sent with a form, or in what is answered of it. */
const RESERVED = new Set(["message", "error", "id", "return", "name", "messenger", "svcpage", "form_id"]);
const CONDITION_VALUES_MAX = 500;

/** When a field is asked for, given what was said to the one it depends on. */
export interface Conditions {
  expr: "in" | "notIn";
  any: boolean;
  values: string[];
}

/** Fills and checks what concerns single fields and how they stand to each other; `mapped` has what they are mapped to. */
export function resolveFields(
  draft: Form,
  before: Form | undefined,
  mapped: ContactFields,
): Violation[] | Fault {
  const clash = nameFields(draft.fields);
  if (clash) return clash;
  const known = new Map(before?.fields.map((field) => [field.id, field]));
  return draft.fields.flatMap((field, index) => {
    const path = `fields[${index}]`;
    const old = known.get(field.id);
    return [
      ...resolveProperties(field, FIELD_PROPERTIES.get(field.type) ?? {}, `${path}.properties`),
      ...resolveValidation(field, `${path}.validation`),
      ...resolveMapping(field, old, { mapped, path: `${path}.mappedField` }),
      ...resolveParent(field, old, draft.fields, `${path}.parent`),
      ...resolveConditions(field, `${path}.conditions`),
    ];
  });
}

/** Makes aliases where none were sent, and brings the others into form. Answers why two fields cannot have the same. */
function nameFields(fields: FormField[]): Fault | undefined {
  const taken = new Set<string>();
  for (const field of fields.filter(({ alias }) => alias !== "")) {
    field.alias = aliasOf(field.alias);
    if (taken.has(field.alias))
      return badRequest(
        `Another field is already using this alias: ${field.alias}. Please choose a different one.`,
      );
    taken.add(field.alias);
  }
  for (const field of fields.filter(({ alias }) => alias === "")) {
    field.alias = freeAlias(aliasOf(field.label), (alias) => taken.has(alias), { lengthMax: FIELD_WORD_MAX });
    taken.add(field.alias);
  }
  return undefined;
}

/** `f_` stands before what has another meaning: `f_name`. */
export function aliasOf(text: string): string {
  const word = fieldWord(text);
  return RESERVED.has(word) ? `f_${word}` : word;
}

function resolveValidation(field: FormField, path: string): Violation[] {
  const validation = jsonOf(field.validation);
  if (isNothing(validation)) field.validation = kept({});
  return isNothing(validation) || isObject(validation) ? [] : [notValid(path)];
}

/** Older clients say `leadField`, of a contact or of its company; who says it last is right. */
function resolveMapping(
  field: FormField,
  old: FormField | undefined,
  { mapped, path }: { mapped: ContactFields; path: string },
): Violation[] {
  if ((field.leadField ?? "") !== (old?.leadField ?? "")) {
    field.mappedField = field.leadField ?? "";
    field.mappedObject = mapped.get(field.mappedField)?.object;
  }
  if (!field.mappedField) {
    field.mappedField = undefined;
    field.mappedObject = undefined;
    field.leadField = undefined;
    return [];
  }
  field.mappedObject ||= "contact";
  field.leadField = field.mappedObject === "contact" ? field.mappedField : undefined;
  // A field that is gone since then is not held against the form.
  if (field.mappedField === old?.mappedField && field.mappedObject === old.mappedObject) return [];
  return mapped.get(field.mappedField)?.object === field.mappedObject
    ? []
    : [notValid(path, `There is no such field of a ${field.mappedObject}.`)];
}

/** A field that the one it depended on has left stands for itself. */
function resolveParent(
  field: FormField,
  old: FormField | undefined,
  fields: FormField[],
  path: string,
): Violation[] {
  if (!field.parent) {
    field.parent = undefined;
    return [];
  }
  const byId = new Map(fields.filter(({ id }) => id > 0).map((other) => [other.id, other]));
  if (!byId.has(field.parent)) {
    if (field.parent !== old?.parent) return [notValid(path, "There is no such field in this form.")];
    field.parent = undefined;
    return [];
  }
  const seen = new Set([field.id]);
  for (let parent = byId.get(field.parent); parent; parent = byId.get(parent.parent ?? 0)) {
    if (seen.has(parent.id)) return [notValid(path, "A field cannot depend on itself.")];
    seen.add(parent.id);
  }
  return [];
}

function resolveConditions(field: FormField, path: string): Violation[] {
  const sent = jsonOf(field.conditions);
  if (isNothing(sent)) {
    field.conditions = kept({});
    return [];
  }
  if (!isObject(sent)) return [notValid(path)];
  const { expr = "in", any = false, values = [] } = sent;
  if (expr !== "in" && expr !== "notIn") return [notValid(`${path}.expr`, notOneOf(["in", "notIn"]))];
  const list = isNothing(values)
    ? []
    : isObject(values) || Array.isArray(values)
      ? Object.values(values)
      : [values];
  const texts = list.map(textOf);
  if (texts.length > CONDITION_VALUES_MAX || texts.includes(undefined)) return [notValid(`${path}.values`)];
  field.conditions = kept({ expr, any: !NO.has(any), values: texts });
  return [];
}

/** How a switch is off. */
const NO = new Set<unknown>([false, null, 0, "", "0", "false", "off", "no"]);

/** On what a field depends; undefined when it is always asked for. */
export function conditionsOf({ conditions }: FormField): Conditions | undefined {
  const read = jsonOf(conditions);
  return isObject(read) ? (read as unknown as Conditions) : undefined;
}
