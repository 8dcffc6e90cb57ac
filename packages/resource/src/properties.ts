import type { DescMessage } from "@bufbuild/protobuf";
import type { Violation } from "@tidings/rpc/fault";
import { textOf, wholeNumberOf, withoutTags, yesOrNoOf } from "@tidings/runtime/plain-text";
import { isNothing, isObject, type JsonObject, jsonOf, kept, notValid } from "./json-member.ts";
import type { NamedThings } from "./needs.ts";

/**
 * Brings the value of a property into the form in which it is kept; undefined when it is none that it can have. The empty text
 * stands for nothing.
 */
export interface PropertyReader {
  (value: unknown): unknown;
  /** The kind of entity whose ids it reads. */
  names?: DescMessage;
}

/** By the names of the properties. What others there are is kept as it is. */
export type PropertyReaders = Readonly<Record<string, PropertyReader>>;

const LIST_MAX = 1_000;
const TEXT_LENGTH_MAX = 10_000;
const NAME_LENGTH_MAX = 191;
const INTEGER_MAX = 2 ** 31 - 1;

function textUpTo(lengthMax: number): PropertyReader {
  return (value) => {
    const read = textOf(value);
    return read === undefined || read.length > lengthMax ? undefined : withoutTags(read);
  };
}

export const text = textUpTo(TEXT_LENGTH_MAX);

const name = textUpTo(NAME_LENGTH_MAX);

export const html: PropertyReader = textOf;

export const object: PropertyReader = (value) =>
  value === "" ? null : typeof value === "object" ? value : undefined;

/** 0 or 1, as clients know it; no when it is empty. */
export const flag: PropertyReader = (value) => {
  const isYes = value === "" ? false : yesOrNoOf(value);
  return isYes === undefined ? undefined : Number(isYes);
};

export const number: PropertyReader = (value) => {
  const read = textOf(value)?.trim();
  if (read === "") return null;
  return read !== undefined && read.length <= 30 && Number.isFinite(Number(read)) ? Number(read) : undefined;
};

export function wholeNumber(min = -INTEGER_MAX, max = INTEGER_MAX): PropertyReader {
  return (value) => {
    if (value === "") return null;
    const read = wholeNumberOf(value);
    return read !== undefined && read >= min && read <= max ? read : undefined;
  };
}

/** An id; null for nothing. */
export const id: PropertyReader = (value) => {
  const read = value === "" ? 0 : wholeNumberOf(value);
  if (read === 0) return null;
  return read !== undefined && read > 0 && read <= INTEGER_MAX ? read : undefined;
};

export function oneOf(...choices: string[]): PropertyReader {
  return (value) => (value === "" ? null : choices.find((choice) => choice === textOf(value)));
}

/** A list of such, each of them once: an array, an object of them, texts joined by `|`, or one alone. */
export function listOf(readItem: PropertyReader): PropertyReader {
  return (value) => {
    const items = entriesOf(value);
    if (items.length > LIST_MAX) return undefined;
    const read = items.map(readItem);
    return read.includes(undefined) ? undefined : [...new Set(read.filter((item) => item !== null))];
  };
}

/** Nothing is no entry of them. */
export const ids: PropertyReader = listOf((value) => id(value) ?? undefined);
/** Names, such as those of tags. */
export const texts: PropertyReader = listOf((value) => {
  const read = name(value);
  return typeof read === "string" ? read.trim() || null : read;
});

function entriesOf(value: unknown): unknown[] {
  if (value === "" || value === null) return [];
  if (typeof value === "object") return Object.values(value);
  return typeof value === "string" ? value.split("|") : [value];
}

/** The numbers that a reader answers are ids of such entities. */
export function naming(schema: DescMessage, read: PropertyReader): PropertyReader {
  return Object.assign((value: unknown) => read(value), { names: schema });
}

/** The entities that properties name, as sent or as kept; `path` leads to them. */
export function thingsNamedIn(
  properties: Uint8Array | undefined,
  readers: PropertyReaders,
  path: string,
): NamedThings[] {
  return Object.entries(propertiesOf({ properties })).flatMap(([name, value]) => {
    const read = Object.hasOwn(readers, name) && value !== null ? readers[name] : undefined;
    if (!read?.names) return [];
    const resolved = read(value);
    const held = isObject(resolved) ? Object.values(resolved) : [resolved].flat();
    const ids = held.filter((each) => typeof each === "number");
    return ids.length > 0 ? [{ field: `${path}.${name}`, schema: read.names, ids }] : [];
  });
}

/** An object with one member: `{email: 5}`. */
export function holding(name: string, read: PropertyReader): PropertyReader {
  const holder: PropertyReader = (value) => {
    if (isNothing(value)) return null;
    if (!isObject(value)) return undefined;
    const held = Object.hasOwn(value, name) && value[name] !== null ? read(value[name]) : null;
    return held === undefined ? undefined : { [name]: held };
  };
  return read.names ? naming(read.names, holder) : holder;
}

/**
 * Checks the properties of something, and brings them into the form in which they are kept, in place. `path` is the way to
 * them: `events[0].properties`.
 */
export function resolveProperties(
  item: { properties?: Uint8Array | undefined },
  readers: PropertyReaders,
  path: string,
): Violation[] {
  const sent = jsonOf(item.properties);
  if (isNothing(sent)) {
    item.properties = kept({});
    return [];
  }
  if (!isObject(sent)) return [notValid(path)];
  const violations: Violation[] = [];
  const properties = Object.entries(sent).map(([name, value]): [string, unknown] => {
    const read = Object.hasOwn(readers, name) && value !== null ? readers[name] : undefined;
    const resolved = read ? read(value) : value;
    if (resolved === undefined) violations.push(notValid(`${path}.${name}`));
    return [name, resolved];
  });
  item.properties = kept(Object.fromEntries(properties));
  return violations;
}

/** The properties as an object; empty when there are none. */
export function propertiesOf({ properties }: { properties?: Uint8Array | undefined }): JsonObject {
  const read = jsonOf(properties);
  return isObject(read) ? read : {};
}
