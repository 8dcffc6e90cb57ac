import { type DescField, type DescMessage, hasOption, type Message } from "@bufbuild/protobuf";
import {
  choices as choicesOption,
  length_max as lengthMaxOption,
  max as maxOption,
  min as minOption,
  missing,
  reference,
  required,
} from "@tidings/proto/tidings/api/v1/options";
import { notOneOf, type Violation } from "@tidings/rpc/fault";
import { optionOf } from "@tidings/rpc/option";
import { readField, writeField } from "./columns.ts";

/** The checks that a message declares for its fields. */
export interface Rules {
  /** `length_max`, of all texts, lists and JSON: what is too long is not worked on any further. */
  lengths: Check;
  /** `required`, `choices`, `min` and `max`. A required text is trimmed first. */
  values: Check;
}

/** The violations of a draft. An unchanged value is not judged again: it may be older than the rule. */
type Check = (draft: Message, before: Message | undefined) => Violation[];
/** The message for a value that breaks the rule. */
type Rule = (value: unknown) => string | undefined;

/** The rules of a message and of those within it, compiled once. */
export function rulesOf(schema: DescMessage): Rules {
  const lengths = schema.fields.map((field) => checkOf(field, [lengthRule(field)], ({ lengths }) => lengths));
  const values = schema.fields.map((field) =>
    checkOf(field, [requiredRule(field), choicesRule(field), rangeRule(field)], ({ values }) => values),
  );
  // Options are read once: of a message with many within it that would be most of the work.
  const requiredFields = schema.fields.filter((field) => optionOf(field, required));
  return {
    lengths: (draft, before) => lengths.flatMap((check) => check(draft, before)),
    values(draft, before) {
      trim(requiredFields, draft);
      return values.flatMap((check) => check(draft, before));
    },
  };
}

function checkOf(field: DescField, possible: (Rule | undefined)[], within: (rules: Rules) => Check): Check {
  const rules = possible.filter((rule) => rule !== undefined);
  const nested = nestedRules(field, within);
  return (draft, before) => {
    const value = readField(draft, { field });
    if (before && readField(before, { field }) === value) return [];
    for (const rule of rules) {
      const message = rule(value);
      if (message !== undefined) return [{ field: field.jsonName, message }];
    }
    return nested(value);
  };
}

function trim(fields: DescField[], draft: Message): void {
  for (const field of fields) {
    const value = readField(draft, { field });
    if (typeof value === "string") writeField(draft, { field }, value.trim());
  }
}

/** Fields whose name stands in the message: "A title is required." */
const NAMED = new Set(["name", "title", "label", "subject"]);

/** A reference is resolved where it is looked up. */
function requiredRule(field: DescField): Rule | undefined {
  if (!optionOf(field, required) || optionOf(field, reference) !== "") return undefined;
  const usual = NAMED.has(field.name) ? `A ${field.name} is required.` : "A value is required.";
  const message = optionOf(field, missing) || usual;
  return (value) => (value === undefined || value === "" || sizeOf(value) === 0 ? message : undefined);
}

function lengthRule(field: DescField): Rule | undefined {
  const max = optionOf(field, lengthMaxOption);
  if (max === 0) return undefined;
  const isList = field.fieldKind === "list";
  const message = isList
    ? `At most ${max} entries are supported.`
    : `This value is too long. It should have ${max} characters or less.`;
  return (value) => (sizeOf(value) > max ? message : undefined);
}

function choicesRule(field: DescField): Rule | undefined {
  const choices = optionOf(field, choicesOption);
  if (choices.length === 0) return undefined;
  const message = notOneOf(choices);
  return (value) =>
    value === undefined || value === "" || choices.includes(value as string) ? undefined : message;
}

function rangeRule(field: DescField): Rule | undefined {
  if (!hasOption(field, minOption) && !hasOption(field, maxOption)) return undefined;
  const [min, max] = [optionOf(field, minOption), optionOf(field, maxOption)];
  const message = `It is from ${min} to ${max}.`;
  return (value) => (typeof value === "number" && (value < min || value > max) ? message : undefined);
}

/** The rules of a nested message, whose fields are named by their path: `fields[2].label`. */
function nestedRules(field: DescField, within: (rules: Rules) => Check): (value: unknown) => Violation[] {
  if (!field.message || field.message.typeName.startsWith("google.protobuf.")) return () => [];
  const check = within(rulesOf(field.message));
  const named = (path: string, message: Message) =>
    check(message, undefined).map((violation) => ({ ...violation, field: `${path}.${violation.field}` }));
  if (field.fieldKind !== "list")
    return (value) => (value === undefined ? [] : named(field.jsonName, value as Message));
  return (value) =>
    (value as Message[]).flatMap((message, index) => named(`${field.jsonName}[${index}]`, message));
}

/** Characters of a text, entries of a list, bytes of JSON. */
function sizeOf(value: unknown): number {
  return typeof value === "string" || Array.isArray(value) || value instanceof Uint8Array ? value.length : 1;
}
