import type { Document } from "@tidings/gateway/openapi/document";
import type { Schema } from "@tidings/gateway/route/schema";

/** A schema of bodies and parameters may not take less than before, one of answers may not answer more. */
export type Way = "sent" | "answered";
export type Compare = (at: string, was: Schema, is: Schema, way: Way) => string[];

/**
 * Compares schemas of two descriptions, member by member and through references, and answers what a client of the first one loses. Schemas
 * with names are compared once for each way.
 */
export function schemaComparer(before: Document, after: Document): Compare {
  const known = new Map<string, string[]>();
  const compare: Compare = (at, was, is, way) => {
    if (typeof was.$ref !== "string" || typeof is.$ref !== "string")
      return whole(at, resolved(before, was), resolved(after, is), way);
    const key = `${way} ${was.$ref} ${is.$ref}`;
    const found = known.get(key);
    if (found) return found;
    // A schema that has itself as a member is compared here already.
    known.set(key, []);
    const losses = whole(nameOf(was.$ref), resolved(before, was), resolved(after, is), way);
    known.set(key, losses);
    return losses;
  };
  const whole: Compare = (at, was, is, way) => {
    const [ofWas, ofIs] = [listIn(was.allOf), listIn(is.allOf)];
    if (ofWas.length > 0 && ofWas.length === ofIs.length)
      return ofWas.flatMap((part, index) => compare(at, part, ofIs[index] as Schema, way));
    const olds = alternativesOf(was, is);
    const news = alternativesOf(is, was);
    return olds.length > 1 || news.length > 1
      ? acrossAlternatives(at, [olds, news], way)
      : plainLosses({ at, was: merged(before, was), is: merged(after, is), way }, compare);
  };
  const hasCommonType = (was: Schema, is: Schema) =>
    areAlike(merged(before, resolved(before, was)), merged(after, resolved(after, is)));
  /** Each alternative has to be within one of the others; of those of its type the one that comes nearest says what is lost. */
  const acrossAlternatives = (at: string, [olds, news]: [Schema[], Schema[]], way: Way) => {
    const pairs =
      way === "sent"
        ? olds.map((was) => news.map((is) => [was, is] as const))
        : news.map((is) => olds.map((was) => [was, is] as const));
    return pairs.flatMap((among) => {
      const alike = among.filter(([was, is]) => hasCommonType(was, is));
      return (alike.length > 0 ? alike : among.slice(0, 1))
        .map(([was, is]) => compare(at, was, is, way))
        .reduce((least, other) => (other.length < least.length ? other : least));
    });
  };
  return compare;
}

/** Follows a reference within a description. */
export function resolved<T extends object>(document: Document, value: T): T {
  const { $ref: reference } = value as { $ref?: string };
  if (reference === undefined) return value;
  const [, , kind = "", name = ""] = reference.split("/");
  return (document.components[kind] as Record<string, T>)[name] as T;
}

function nameOf(reference: string): string {
  return reference.slice(reference.lastIndexOf("/") + 1);
}

function listIn(value: unknown): Schema[] {
  return Array.isArray(value) ? value : [];
}

/** Types are alternatives, too, where the other schema has some. */
function alternativesOf(schema: Schema, other: Schema): Schema[] {
  const own = listIn(schema.anyOf ?? schema.oneOf);
  if (own.length > 0) return own;
  const hasOthers = listIn(other.anyOf ?? other.oneOf).length > 0;
  return hasOthers && Array.isArray(schema.type)
    ? schema.type.map((type) => ({ ...schema, type }))
    : [schema];
}

/** A schema with the members of all of its parts. */
function merged(document: Document, schema: Schema): Schema {
  const parts = [schema, ...listIn(schema.allOf).map((part) => resolved(document, part))];
  return Object.assign({}, ...parts, {
    properties: Object.assign({}, ...parts.map(membersOf)),
    required: parts.flatMap(({ required }) => namesIn(required)),
  });
}

interface Plain {
  at: string;
  was: Schema;
  is: Schema;
  way: Way;
}

/** Losses between two schemas that are neither references nor alternatives. */
function plainLosses(plain: Plain, compare: Compare): string[] {
  const { at, was, is, way } = plain;
  if (!areAlike(was, is)) return typeLosses(plain);
  const members = Object.entries(membersOf(was)).flatMap(([name, member]) => {
    const now = membersOf(is)[name];
    return now ? compare(`${at}.${name}`, member, now, way) : [`${at}.${name} is gone`];
  });
  const within = [
    ["[]", was.items, is.items],
    [".*", was.additionalProperties, is.additionalProperties],
    ...patternsOf(was, is),
  ] as const;
  return [
    ...typeLosses(plain),
    ...valueLosses(plain),
    ...limitLosses(plain),
    ...requiredLosses(plain),
    ...closingLosses(plain),
    ...members,
    ...within.flatMap(([name, old, now]) =>
      isSchema(old) || isSchema(now) ? compare(`${at}${name}`, schemaIn(old), schemaIn(now), way) : [],
    ),
  ];
}

function membersOf({ properties = {} }: Schema): Record<string, Schema> {
  return properties as Record<string, Schema>;
}

function namesIn(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null;
}

/** Without a schema anything is valid. */
function schemaIn(value: unknown): Schema {
  return isSchema(value) ? value : {};
}

/** The schemas of members whose names have a pattern. */
function patternsOf(was: Schema, is: Schema): [string, unknown, unknown][] {
  const [olds, news] = [schemaIn(was.patternProperties), schemaIn(is.patternProperties)];
  const patterns = new Set([...Object.keys(olds), ...Object.keys(news)]);
  return [...patterns].map((pattern) => [`.${pattern}`, olds[pattern], news[pattern]]);
}

/** The values of the first have to be among those of the second: what was sent is still taken, what is answered was before. */
function sidesOf({ was, is, way }: Plain): [inner: Schema, outer: Schema] {
  return way === "sent" ? [was, is] : [is, was];
}

function lost({ at, way }: Plain, value: string): string {
  return way === "sent" ? `${at} takes no ${value} any more` : `${at} may be ${value}`;
}

function typeLosses(plain: Plain): string[] {
  const [inner, outer] = sidesOf(plain).map(typesOf) as [string[], string[]];
  if (outer.length === 0) return [];
  const types = inner.length > 0 ? inner : ["anything"];
  const isIn = (type: string) => outer.includes(type) || (type === "integer" && outer.includes("number"));
  return types.filter((type) => !isIn(type)).map((type) => lost(plain, type));
}

/** Has a value of one of the types of the first a type of the second? */
function areAlike(was: Schema, is: Schema): boolean {
  const [olds, news] = [typesOf(was), typesOf(is)];
  return olds.length === 0 || news.length === 0 || olds.some((type) => news.includes(type));
}

/** The types of a schema, or of the values that it names. */
function typesOf(schema: Schema): string[] {
  const { type } = schema;
  if (type !== undefined) return [type].flat().map(String);
  return [...new Set(valuesOf(schema)?.map((value) => (value === null ? "null" : typeof value)))];
}

function valuesOf(schema: Schema): unknown[] | undefined {
  if (Object.hasOwn(schema, "const")) return [schema.const];
  return schema.enum as unknown[] | undefined;
}

function valueLosses(plain: Plain): string[] {
  const [inner, outer] = sidesOf(plain).map(valuesOf);
  if (!outer) return [];
  if (!inner) return [lost(plain, "other value")];
  return inner.filter((value) => !outer.includes(value)).map((value) => lost(plain, String(value)));
}

const MOST = ["maxLength", "maxItems", "maxProperties", "maximum"];
const LEAST = ["minLength", "minItems", "minProperties", "minimum"];

function limitLosses(plain: Plain): string[] {
  const { at, way } = plain;
  const [inner, outer] = sidesOf(plain);
  const limits = [
    ...MOST.filter((limit) => Number(outer[limit] ?? Infinity) < Number(inner[limit] ?? Infinity)),
    ...LEAST.filter((limit) => Number(outer[limit] ?? -Infinity) > Number(inner[limit] ?? -Infinity)),
  ];
  const forms = ["pattern", "format"].filter(
    (form) => outer[form] !== undefined && outer[form] !== inner[form],
  );
  return [
    ...limits.map((limit) => `${at} has a ${way === "sent" ? "narrower" : "wider"} ${limit}`),
    ...forms.map((form) => `${at} has another ${form}`),
  ];
}

/** Members that have to be sent now, and members that were always answered. */
function requiredLosses(plain: Plain): string[] {
  const { at, is, way } = plain;
  const [inner, outer] = sidesOf(plain).map(({ required }) => namesIn(required)) as [string[], string[]];
  const names = outer.filter((name) => !inner.includes(name));
  if (way === "sent") return names.map((name) => `${at} needs ${name}`);
  return names.filter((name) => membersOf(is)[name]).map((name) => `${at}.${name} may be missing`);
}

function closingLosses(plain: Plain): string[] {
  const { at, way } = plain;
  const [inner, outer] = sidesOf(plain);
  if (outer.additionalProperties !== false || inner.additionalProperties === false) return [];
  if (!typesOf(inner).includes("object")) return [];
  return [way === "sent" ? `${at} takes no other members any more` : `${at} may have other members`];
}
