import type { FieldObject, FieldOption, FieldProperties } from "@tidings/contacts/shown-field";
import type { Field as FieldMessage } from "@tidings/proto/tidings/contact/v1/field";
import { parseJson } from "@tidings/resource/json-member";
import { NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { textOf, wholeNumberOf, withoutTags } from "@tidings/runtime/plain-text";
import type { Field } from "./catalogue.ts";
import { readFieldValue } from "./value.ts";

const TYPES = new Set(
  `text textarea html email tel url number boolean select multiselect lookup date datetime time timezone country
   region locale`.split(/\s+/),
);
const GROUPS = ["core", "social", "personal", "professional"];
const LABEL_LENGTH_MAX = 191;
const LENGTH_LIMIT_MAX = 255;
const LENGTH_LIMITED = new Set(["text", "select", "tel", "url", "email"]);
const DEFAULT_LENGTH_LIMIT = 64;
const OPTIONS_MAX = 1_000;
const SCALE_MAX = 10;

/** Completes a definition in place and answers what is wrong with it. */
export function checkDefinition(
  draft: FieldMessage,
  before: FieldMessage | undefined,
  object: FieldObject,
): Violation[] {
  draft.object = object;
  if (before) Object.assign(draft, { alias: before.alias, type: before.type, isFixed: before.isFixed });
  draft.label = draft.label.trim();
  draft.type ||= "text";
  draft.group ||= "core";
  if (!before && LENGTH_LIMITED.has(draft.type)) draft.charLengthLimit ??= DEFAULT_LENGTH_LIMIT;
  return [
    ...checkLabel(draft),
    ...checkChoices(draft),
    ...checkProperties(draft),
    ...checkLengthLimit(draft),
    ...checkDefault(draft),
  ];
}

function checkLabel({ label }: FieldMessage): Violation[] {
  if (label === "") return [{ field: "label", message: "A label is required." }];
  if (label.length <= LABEL_LENGTH_MAX) return [];
  const message = `This value is too long. It should have ${LABEL_LENGTH_MAX} characters or less.`;
  return [{ field: "label", message }];
}

function checkChoices({ type, group }: FieldMessage): Violation[] {
  const violations: Violation[] = [];
  if (!TYPES.has(type)) violations.push({ field: "type", message: "There's a field type not recognized." });
  if (!GROUPS.includes(group)) violations.push({ field: "group", message: NOT_VALID });
  return violations;
}

function checkLengthLimit({ charLengthLimit: limit }: FieldMessage): Violation[] {
  if (limit === undefined || (limit >= 1 && limit <= LENGTH_LIMIT_MAX)) return [];
  return [{ field: "charLengthLimit", message: `This value should be between 1 and ${LENGTH_LIMIT_MAX}.` }];
}

/** A default has to be a value of the field. */
function checkDefault(draft: FieldMessage): Violation[] {
  if (!draft.defaultValue) return [];
  const properties: FieldProperties = parseJson(draft.properties);
  const field = { type: draft.type, properties, charLengthLimit: draft.charLengthLimit ?? null } as Field;
  const read = readFieldValue(field, draft.defaultValue);
  if ("problem" in read) return [{ field: "defaultValue", message: read.problem }];
  if (read.value !== null) draft.defaultValue = read.value;
  return [];
}

function checkProperties(draft: FieldMessage): Violation[] {
  const sent: unknown = draft.properties.length > 0 ? parseJson(draft.properties) : {};
  const read = readProperties(draft.type, isListOrObject(sent) ? sent : {});
  if (typeof read === "string") {
    draft.properties = Buffer.from("{}");
    return [{ field: "properties", message: read }];
  }
  draft.properties = Buffer.from(JSON.stringify(read));
  return [];
}

const LIST_MISSING =
  "A list for the select box must be specified. Separate each option with a vertical bar. I.e. Green|Blue|Red";

/** The properties a type has, or what is missing. Members that no type knows are dropped. */
function readProperties(type: string, sent: Record<string, unknown>): object | string {
  switch (type) {
    case "select":
    case "multiselect": {
      const list = readOptionList(sent.list);
      return list.length > 0 && list.length <= OPTIONS_MAX ? { list } : LIST_MISSING;
    }
    case "lookup": {
      const list = readSuggestions(sent.list);
      return list.length > OPTIONS_MAX ? TOO_MANY_SUGGESTIONS : list.length > 0 ? { list } : {};
    }
    case "boolean":
      if (!labelOf(sent.yes)) return "A 'positive' label is required.";
      if (!labelOf(sent.no)) return "A 'negative' label is required.";
      return { yes: labelOf(sent.yes), no: labelOf(sent.no) };
    case "number":
      return { roundmode: within(sent.roundmode, 2, 6, 4), scale: within(sent.scale, 0, SCALE_MAX, 0) };
    default:
      return {};
  }
}

/** `[{label, value}]`, `["a", "b"]`, `"a|b"` or `{value: label}`. */
function readOptionList(sent: unknown): FieldOption[] {
  if (typeof sent === "string") return readOptionList(sent.split("|"));
  if (!isListOrObject(sent)) return [];
  const inner = sent.list;
  if (inner !== undefined) return readOptionList(inner);
  const entries = Array.isArray(sent)
    ? sent.map((item) => [isListOrObject(item) ? item.value : item, isListOrObject(item) ? item.label : item])
    : Object.entries(sent).map(([key, item]) =>
        isListOrObject(item) ? [item.value, item.label] : [key, item],
      );
  const options = entries.flatMap(([sentValue, sentLabel]) => {
    const value = labelOf(sentValue);
    return value === "" ? [] : [{ label: labelOf(sentLabel) || value, value }];
  });
  return [...new Map(options.map((option) => [option.value, option])).values()];
}

/** The values a lookup suggests, each in the form it was sent: a text, or an object with its value and label. */
function readSuggestions(sent: unknown): Suggestion[] {
  const inner = isListOrObject(sent) && !Array.isArray(sent) && sent.list !== undefined ? sent.list : sent;
  const items =
    typeof inner === "string" ? inner.split("|") : isListOrObject(inner) ? Object.values(inner) : [];
  return items.flatMap((item): Suggestion[] => {
    const value = labelOf(isListOrObject(item) ? item.value : item);
    if (value === "") return [];
    return [isListOrObject(item) ? { label: labelOf(item.label) || value, value } : value];
  });
}

type Suggestion = string | FieldOption;

const TOO_MANY_SUGGESTIONS = `A list may have ${OPTIONS_MAX} values.`;

function within(sent: unknown, min: number, max: number, otherwise: number): number {
  const number = wholeNumberOf(sent);
  return number !== undefined && number >= min && number <= max ? number : otherwise;
}

/** Empty where there is none. */
function labelOf(value: unknown): string {
  return withoutTags(textOf(value) ?? "").trim();
}

function isListOrObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
