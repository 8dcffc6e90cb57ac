import type { FieldOption } from "@tidings/contacts/shown-field";
import { dateTimeText } from "@tidings/database/timestamp";
import { NOT_VALID } from "@tidings/rpc/fault";
import { DATE_FORMS, parseDateText } from "@tidings/runtime/date-text";
import { EMAIL_LENGTH_MAX, isEmailAddress } from "@tidings/runtime/email-address";
import { textOf, withoutTags, yesOrNoOf } from "@tidings/runtime/plain-text";
import type { Field } from "./catalogue.ts";
import { isCountry, isLocale, isRegion, isTimezone } from "./places.ts";

/** A value in the text form its column takes (null clears it), or what is wrong with it. */
export type FieldValue = { value: string | null } | { problem: string };

const INVALID = { problem: NOT_VALID };
const NOT_A_DATE = { problem: `This value is ${DATE_FORMS}.` };
const EMAIL_INVALID = { problem: "A valid email is required." };
const TEXT_LENGTH_MAX = 191;
const LONG_TEXT_LENGTH_MAX = 65_535;

/** Reads what a caller sent for a field. Blank text is null. */
export function readFieldValue(field: Field, input: unknown): FieldValue {
  if (input === null || input === undefined) return { value: null };
  if (field.type === "multiselect") return readOptions(input, field);
  const text = textOf(input)?.trim();
  if (text === undefined) return INVALID;
  if (text === "") return { value: null };
  // Whatever else is done with it takes the longer the longer it is.
  if (text.length > LONG_TEXT_LENGTH_MAX) return tooLong(LONG_TEXT_LENGTH_MAX);
  const read = READERS.get(field.type) ?? readText;
  return read(text, field);
}

const READERS = new Map<string, (text: string, field: Field) => FieldValue>([
  ["textarea", (text) => limited(withoutTags(text), LONG_TEXT_LENGTH_MAX)],
  ["html", (text) => limited(text, LONG_TEXT_LENGTH_MAX)],
  ["email", readEmail],
  ["number", readNumber],
  ["boolean", readBoolean],
  ["select", readOption],
  ["date", readDate],
  ["datetime", readDateTime],
  ["time", readTime],
  ["country", (text) => (isCountry(text) ? { value: text } : INVALID)],
  ["region", (text) => (isRegion(text) ? { value: text } : INVALID)],
  ["locale", (text) => (isLocale(text) ? { value: text } : INVALID)],
  ["timezone", (text) => (isTimezone(text) ? { value: text } : INVALID)],
]);

function readText(text: string, field: Field): FieldValue {
  return limited(withoutTags(text), field.charLengthLimit ?? TEXT_LENGTH_MAX);
}

function readEmail(text: string): FieldValue {
  if (text.length > EMAIL_LENGTH_MAX) return tooLong(EMAIL_LENGTH_MAX);
  return isEmailAddress(text) ? { value: text } : EMAIL_INVALID;
}

function limited(text: string, lengthMax: number): FieldValue {
  if (text === "") return { value: null };
  return text.length <= lengthMax ? { value: text } : tooLong(lengthMax);
}

function tooLong(lengthMax: number): FieldValue {
  return { problem: `This value is too long. It should have ${lengthMax} characters or less.` };
}

function readBoolean(text: string): FieldValue {
  const isYes = yesOrNoOf(text);
  return isYes === undefined ? INVALID : { value: isYes ? "1" : "0" };
}

function readOption(text: string, field: Field): FieldValue {
  return isOption(field.properties.list, text) ? { value: text } : INVALID;
}

/** Several options, as a list or separated by bars; stored in the second form. */
function readOptions(input: unknown, field: Field): FieldValue {
  const items = typeof input === "object" ? Object.values(input ?? {}) : (textOf(input) ?? "").split("|");
  const { list = [] } = field.properties;
  // An option may be named again, but nobody needs to name each of them often.
  if (items.length > 2 * list.length + 2) return INVALID;
  const texts = items.map(textOf);
  if (texts.includes(undefined)) return INVALID;
  const values = [...new Set(texts.map((text) => (text ?? "").trim()))].filter((text) => text !== "");
  const options = new Set(list.map(({ value }) => value));
  if (!values.every((value) => options.has(value))) return INVALID;
  return { value: values.length === 0 ? null : values.join("|") };
}

export function isOption(list: FieldOption[] | undefined, value: string): boolean {
  return list?.some((option) => option.value === value) ?? false;
}

const NUMBER_MAX = 1e15;

function readNumber(text: string, field: Field): FieldValue {
  const number = Number(text);
  if (!Number.isFinite(number) || Math.abs(number) > NUMBER_MAX) return INVALID;
  const { scale = 0, roundmode = HALF_EVEN } = field.properties;
  return { value: String(round(number, scale, roundmode)) };
}

const DOWN = 2;
const UP = 3;
const HALF_EVEN = 4;
const HALF_DOWN = 5;

/** Rounding modes under the numbers field definitions store: 2 down, 3 up, 4 half even, 5 half down, 6 half up. */
function round(number: number, scale: number, mode: number): number {
  const shifted = Number(`${Math.abs(number)}e${scale}`);
  if (!Number.isFinite(shifted)) return number;
  const floor = Math.floor(shifted);
  const rest = shifted - floor;
  const isUp =
    mode === UP
      ? rest > 0
      : mode === DOWN
        ? false
        : rest > 0.5 || (rest === 0.5 && mode !== HALF_DOWN && (mode !== HALF_EVEN || floor % 2 === 1));
  return Math.sign(number) * Number(`${isUp ? floor + 1 : floor}e-${scale}`);
}

function readDateTime(text: string): FieldValue {
  const milliseconds = parseDateText(text);
  return milliseconds === undefined ? NOT_A_DATE : { value: dateTimeText(milliseconds) };
}

function readDate(text: string): FieldValue {
  const milliseconds = parseDateText(text);
  return milliseconds === undefined ? NOT_A_DATE : { value: dateTimeText(milliseconds).slice(0, 10) };
}

/** `9:30` and `09:30:15`, stored as `H:i:s`. */
function readTime(text: string): FieldValue {
  const [, hours = "", minutes = "", seconds = "00"] =
    /^([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/.exec(text) ?? [];
  return hours === "" ? INVALID : { value: `${hours.padStart(2, "0")}:${minutes}:${seconds}` };
}

/** The same text as the API writes date-times: `2024-05-01T10:00:00+00:00` */
export function isoTime(text: string): string {
  return `${text.slice(0, 19).replace(" ", "T")}+00:00`;
}
