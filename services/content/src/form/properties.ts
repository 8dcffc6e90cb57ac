import type { Violation } from "@tidings/rpc/fault";
import { textOf, wholeNumberOf, withoutTags } from "@tidings/runtime/plain-text";
import { isNothing, isObject, type JsonObject, jsonOf, kept, notValid } from "../json-member.ts";

/** One choice of a list. */
export interface Option {
  label: string;
  value: string;
}

/** Brings the value of a property into the form in which it is kept; undefined when it is none that it can have. */
export type PropertyReader = (value: unknown) => unknown;

/** The properties that things of each type have. What others there are is kept as it is. */
export type PropertyReaders = ReadonlyMap<string, Record<string, PropertyReader>>;

const OPTIONS_MAX = 1_000;
const LIST_MAX = 1_000;

export const text: PropertyReader = (value) => {
  const read = textOf(value);
  return read === undefined ? undefined : withoutTags(read);
};

export const html: PropertyReader = textOf;

/** 0 or 1, as clients know it. */
export const flag: PropertyReader = (value) => FLAGS.get(textOf(value)?.toLowerCase() ?? "none");

const FLAGS = new Map([
  ...["1", "true", "on", "yes"].map((word) => [word, 1] as const),
  ...["0", "false", "off", "no", ""].map((word) => [word, 0] as const),
]);

export function wholeNumber(min: number, max: number): PropertyReader {
  return (value) => {
    const number = wholeNumberOf(value);
    return number !== undefined && number >= min && number <= max ? number : undefined;
  };
}

/** The id of something; null for nothing. */
export const id: PropertyReader = (value) => {
  const number = value === "" ? 0 : wholeNumberOf(value);
  if (number === 0) return null;
  return number !== undefined && number > 0 && number < 2 ** 31 ? number : undefined;
};

export const ids: PropertyReader = listOf((value) => id(value) ?? undefined);
export const texts: PropertyReader = listOf(text);

export function oneOf(...choices: string[]): PropertyReader {
  return (value) => (choices.includes(value as string) ? value : undefined);
}

/** A list of such, or one of them. */
export function listOf(readItem: PropertyReader): PropertyReader {
  return (value) => {
    const items =
      isObject(value) || Array.isArray(value) ? Object.values(value) : value === "" ? [] : [value];
    if (items.length > LIST_MAX) return undefined;
    const read = items.map(readItem);
    return read.includes(undefined) ? undefined : read;
  };
}

/**
 * `{list: [{label, value}]}`, which may also come as the list alone, as a list of texts that are label and value in one, or as
 * an object of labels by value.
 */
export const options: PropertyReader = (value) => {
  const list = isObject(value) && "list" in value ? value.list : value;
  if (isNothing(list)) return { list: [] };
  if (!isObject(list) && !Array.isArray(list)) return undefined;
  const entries = Object.entries(list);
  if (entries.length > OPTIONS_MAX) return undefined;
  const read = entries.map(([key, entry]) => optionOf(entry, Array.isArray(list) ? undefined : key));
  return read.includes(undefined) ? undefined : { list: read };
};

function optionOf(entry: unknown, key: string | undefined): Option | undefined {
  if (!isObject(entry)) {
    const label = text(entry) as string | undefined;
    // An object with numbers for keys is how forms of HTML send a list.
    const value = key === undefined || /^\d+$/.test(key) ? label : (text(key) as string);
    return label === undefined || value === undefined ? undefined : { label, value };
  }
  const value = text(entry.value ?? entry.label) as string | undefined;
  const label = text(entry.label ?? entry.value) as string | undefined;
  return label === undefined || value === undefined ? undefined : { label, value };
}

/** Checks the properties of something of a type, and brings them into the form in which they are kept. */
export function settleProperties(
  item: { type: string; properties?: Uint8Array | undefined },
  readers: PropertyReaders,
  path: string,
): Violation[] {
  const sent = jsonOf(item.properties);
  if (isNothing(sent)) {
    item.properties = kept({});
    return [];
  }
  if (!isObject(sent)) return [notValid(path)];
  const known = readers.get(item.type) ?? {};
  const violations: Violation[] = [];
  const properties = Object.entries(sent).map(([name, value]): [string, unknown] => {
    const read = Object.hasOwn(known, name) && value !== null ? known[name] : undefined;
    const settled = read ? read(value) : value;
    if (settled === undefined) violations.push(notValid(`${path}.${name}`));
    return [name, settled];
  });
  item.properties = kept(Object.fromEntries(properties));
  return violations;
}

/** What is kept of the properties of something. */
export function propertiesOf({ properties }: { properties?: Uint8Array | undefined }): JsonObject {
  const read = jsonOf(properties);
  return isObject(read) ? read : {};
}
