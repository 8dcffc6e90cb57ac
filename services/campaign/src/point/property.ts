import { isEmailAddress } from "@tidings/runtime/email-address";
import { textOf, wholeNumberOf, withoutTags } from "@tidings/runtime/plain-text";

/** Brings what was sent for a property into the form in which it is kept; undefined when it does not fit. */
export type PropertyReader = (value: unknown) => unknown;

const ENTRIES_MAX = 1_000;
const ID_MAX = 2 ** 31 - 1;
const TEXT_LENGTH_MAX = 2_048;
const CONTACT_FIELD = /^\{contactfield=[a-z0-9_]+\}$/;
/** Of a tag. */
const NAME_LENGTH_MAX = 191;

/** The id of something else, which may be gone by now. */
export const id = single(readId);
/** From 0 on. */
export const count = single((value) => {
  const number = wholeNumberOf(value);
  return number !== undefined && number >= 0 && number <= ID_MAX ? number : undefined;
});
export const text = single((value) => {
  const read = textOf(value);
  return read === undefined || read.length > TEXT_LENGTH_MAX ? undefined : withoutTags(read);
});
const FLAGS = new Map([
  ...["true", "1", "on", "yes"].map((word) => [word, true] as const),
  ...["false", "0", "off", "no"].map((word) => [word, false] as const),
]);
export const flag = single((value) => FLAGS.get(textOf(value)?.toLowerCase() ?? ""));
export const object = single((value) => (typeof value === "object" ? value : undefined));
/** An object with an id in it. */
export const holdingId = (name: string): PropertyReader =>
  single((value) => {
    if (typeof value !== "object" || value === null) return undefined;
    const held = Object.hasOwn(value, name) ? id((value as Record<string, unknown>)[name]) : null;
    return held === undefined ? undefined : { [name]: held };
  });
/** Joined by commas, or each a field of the contact in which one stands. */
export const addresses = single((value) => {
  if (typeof value !== "string" || value.length > TEXT_LENGTH_MAX) return undefined;
  const sent = value.split(",").map((address) => address.trim());
  return sent.every((address) => CONTACT_FIELD.test(address) || isEmailAddress(address))
    ? sent.join(", ")
    : undefined;
});

/** Each of them once. */
export const ids = several(readId);
export const names = several((value) => {
  const read = textOf(value);
  if (read === undefined || read.length > NAME_LENGTH_MAX) return undefined;
  return withoutTags(read).trim() || undefined;
});

function readId(value: unknown): number | undefined {
  const number = wholeNumberOf(value);
  return number !== undefined && number > 0 && number <= ID_MAX ? number : undefined;
}

/** Nothing is null, however it was sent. */
function single(read: PropertyReader): PropertyReader {
  return (value) => (value === null || value === "" ? null : read(value));
}

/** A list, an object whose values are one, texts joined by `|`, or one entry alone. */
function several(read: PropertyReader): PropertyReader {
  return (value) => {
    if (value === null || value === "") return [];
    const sent = entriesOf(value);
    if (sent.length > ENTRIES_MAX) return undefined;
    const entries = sent.map(read);
    return entries.includes(undefined) ? undefined : [...new Set(entries)];
  };
}

function entriesOf(value: unknown): unknown[] {
  if (typeof value === "object" && value !== null) return Object.values(value);
  return typeof value === "string" ? value.split("|") : [value];
}
