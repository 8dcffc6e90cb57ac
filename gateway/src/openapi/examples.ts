import { isObject, membersOf } from "@tidings/resource/json-member";
import { standardOf } from "@tidings/rpc/standard";
import { resources } from "../resources.ts";
import type { Schema } from "../route/schema.ts";
import type { Document } from "./document.ts";
import { DATE, EXAMPLE_VALUES } from "./example-values.ts";

interface JsonContent {
  schema: Schema;
  examples?: object;
}

/**
 * Gives each operation an example of its answer, made from its schema: an entity is what the example of a body makes, with the
 * initial values of its other members. Equal ones are kept once. A schema whose values cannot be guessed has `examples` of its own.
 */
export function addExamples(document: Document): void {
  const { schemas } = document.components;
  const keys = new Map<string, string>();
  const kept = (operationId: string, value: unknown) => {
    const text = JSON.stringify(value);
    const key = keys.get(text) ?? operationId;
    keys.set(text, key);
    return { answer: { $ref: `#/components/examples/${key}` } };
  };
  for (const [path, methods] of Object.entries(document.paths))
    for (const [method, { operationId, responses }] of Object.entries(methods)) {
      const isDeletion = method === "delete" && path.endsWith("/{id}/delete");
      for (const content of answersOf(responses)) {
        const example = exampleOf(content.schema, { schemas, name: "" });
        content.examples = kept(operationId, isDeletion ? withoutId(example) : example);
      }
    }
  document.components.examples = Object.fromEntries(
    [...keys].map(([text, key]) => [key, { value: JSON.parse(text) }]),
  );
}

/** The JSON that the good answers of an operation have. */
function answersOf(responses: Record<string, unknown>): JsonContent[] {
  return Object.entries(responses).flatMap(([status, response]) => {
    const { content } = response as { content?: Record<string, JsonContent> };
    const json = content?.["application/json"];
    return json && status.startsWith("2") ? [json] : [];
  });
}

/** The only entity of an answer, which has no id any more. */
function withoutId(example: unknown): unknown {
  const entries = Object.entries(example as Record<string, object>);
  return Object.fromEntries(
    entries.map(([name, entity]) => [name, "id" in entity ? { ...entity, id: null } : entity]),
  );
}

type Members = Record<string, Schema>;

/** A place within an answer. */
interface Place {
  schemas: Members;
  /** The name of the member. */
  name: string;
  /** The value that the example of a body has here. */
  sent?: unknown;
  /** The name of the message around it, if any. Entities are new: their lists are empty, where others have one item. */
  within?: string;
}

/** Bodies that make an entity, by the name of its message. The first of two resources of one message (fields) speaks for it. */
const BODIES = new Map(
  resources.toReversed().map(({ service, example }) => [standardOf(service).resource.name, example]),
);

function exampleOf(schema: Schema, place: Place): unknown {
  const [own] = (schema.examples ?? []) as unknown[];
  if (own !== undefined) return own;
  if (schema.$ref !== undefined) return entityOf(schema, place);
  const options = (schema.anyOf ?? schema.oneOf) as Schema[] | undefined;
  if (options) return exampleOf(optionOf(options, place), place);
  if ("const" in schema) return schema.const;
  if (Array.isArray(schema.enum)) return schema.enum.includes(place.sent) ? place.sent : schema.enum[0];
  if (typesOf(schema).length === 0 && !schema.properties) return place.sent ?? null;
  return plainValue(schema, place);
}

function entityOf(schema: Schema, place: Place): unknown {
  const message = nameOf(schema).replace(/Part$/, "");
  const inputs = place.schemas[`${message}Input`]?.properties as Members | undefined;
  const initial = Object.entries(inputs ?? {}).flatMap(([member, { default: value }]) =>
    value === undefined ? [] : [[member, value] as const],
  );
  const sent = place.within === undefined ? BODIES.get(message) : place.sent;
  const values = { ...Object.fromEntries(initial), ...membersOf(sent) };
  return exampleOf(targetOf(schema, place), { ...place, sent: values, within: message });
}

/** The option that fits what was sent, else null or what is empty. */
function optionOf(options: Schema[], place: Place): Schema {
  const { sent, within } = place;
  // An entity that was sent as its id is answered as others show it.
  const fitting = options.find((option) => option.$ref !== undefined || isById(option) || fits(option, sent));
  if (sent !== undefined && fitting) return fitting;
  const empty = options.find(({ type, maxItems }) => type === "null" || maxItems === 0);
  return (within !== undefined && sent === undefined && empty) || (options[0] ?? {});
}

/** The name of the component that a schema refers to. */
function nameOf({ $ref }: Schema): string {
  return String($ref).split("/").at(-1) ?? "";
}

function targetOf(schema: Schema, { schemas }: Place): Schema {
  return schemas[nameOf(schema)] ?? {};
}

function plainValue(schema: Schema, place: Place): unknown {
  const type = typeOf(schema, place);
  if (!hasMembers(schema) && fits(schema, place.sent)) return place.sent;
  const known = knownValue(place);
  if (known !== undefined && fits(schema, known)) return known;
  if (type === "object") return objectOf(schema, place);
  if (type === "array") return listOf(schema, place);
  return initialValue(schema, type);
}

function objectOf({ properties, required, patternProperties }: Schema, place: Place): object {
  const [entry] = Object.values((patternProperties ?? {}) as Members);
  if (entry) return byNumber(entry, place);
  const members = (properties ?? {}) as Members;
  const always = (required ?? []) as string[];
  const names = always.length > 0 ? always : Object.keys(members);
  const sent = membersOf(place.sent);
  return Object.fromEntries(
    names.map((name) => [name, exampleOf(members[name] ?? {}, { ...place, name, sent: sent[name] })]),
  );
}

/** An object with a member for each item of the list that was sent. */
function byNumber(entry: Schema, place: Place): object {
  const items = Array.isArray(place.sent) ? place.sent : [undefined];
  return Object.fromEntries(
    items.map((sent, index) => [index + 1, exampleOf(entry, { ...place, name: "", sent })]),
  );
}

function listOf({ items = {}, maxItems }: Schema, place: Place): unknown[] {
  if (maxItems === 0) return [];
  const each = Array.isArray(place.sent) ? place.sent : place.within === undefined ? [undefined] : [];
  return each.map((sent) => exampleOf(items as Schema, { ...place, name: "", sent }));
}

function knownValue({ within, name }: Place): unknown {
  const own = `${within}.${name}`;
  return EXAMPLE_VALUES.get(EXAMPLE_VALUES.has(own) ? own : name);
}

/** Texts without a better value are empty. */
function initialValue({ minimum = 0, format, pattern }: Schema, type: string): unknown {
  if (type === "null") return null;
  if (type === "boolean") return false;
  if (type === "integer" || type === "number") return minimum;
  if (format === "date-time") return DATE;
  return pattern === "^\\d+$" ? "1" : "";
}

/** The type that what was sent has; without it, within entities a list before null before others. */
function typeOf(schema: Schema, { sent, within }: Place): string {
  const types = typesOf(schema);
  const fitting = types.find((type) => sent !== undefined && isOf(type, sent));
  if (fitting) return fitting;
  if (within !== undefined && types.includes("null")) return types.includes("array") ? "array" : "null";
  return types[0] ?? "object";
}

function typesOf({ type }: Schema): string[] {
  return Array.isArray(type) ? type : type === undefined ? [] : [String(type)];
}

function fits(schema: Schema, value: unknown): boolean {
  return schema.maxItems !== 0 && typesOf(schema).some((type) => isOf(type, value));
}

function hasMembers({ properties, patternProperties, items }: Schema): boolean {
  return (properties ?? patternProperties ?? items) !== undefined;
}

function isById({ patternProperties }: Schema): boolean {
  return patternProperties !== undefined;
}

function isOf(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "null") return value === null;
  return type === "object" ? isObject(value) : typeof value === type;
}
