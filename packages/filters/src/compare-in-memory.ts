import { RE2JS } from "re2js";
import { boundOf, readDateValue } from "./date-value.ts";
import { FilterProblem, type FilterValue } from "./filter.ts";
import { booleanOf, isBlank, likePattern, listOf, literal, numberOf, textOf } from "./operand.ts";
import { counterpartOf, type ValueKind } from "./operators.ts";
import { safePattern } from "./pattern.ts";

/** A value of a contact in Postgres' text form; null where there is none. */
export interface MemoryValue {
  text: string | null;
  kind: ValueKind;
}

/**
 * Compares a value as `compare-in-sql.ts` does, with the same verdict. Where SQL answers null, this answers false. Throws FilterProblem for an
 * operand that cannot be. `today` is a midnight in UTC.
 */
export function holds(value: MemoryValue, operator: string, operand: FilterValue, today: number): boolean {
  const ofOptions = value.kind === "options" && OPTION_OPERATORS.get(operator);
  if (ofOptions && !isBlank(operand)) return ofOptions(value.text, listOf(operand).map(lowered));
  const positive = counterpartOf(operator);
  if (positive) return !holds(value, positive, operand, today);
  if (operator === "!empty") return !isEmpty(value);
  if (operator === "empty" || (operator === "=" && isBlank(operand))) return isEmpty(value);
  const ofText = TEXT_OPERATORS.get(operator);
  if (ofText) return ofTextOf(value, ofText, textOf(operand));
  if (operator === "in" || Array.isArray(operand)) return holdsForOne(value, operator, operand, today);
  if (value.kind === "date" || value.kind === "datetime")
    return holdsForDate(value.text, operator, textOf(operand), today);
  return holdsForScalar(value, operator, textOf(operand));
}

function isEmpty({ text, kind }: MemoryValue): boolean {
  return text === null || (text === "" && (kind === "text" || kind === "options"));
}

/**
 * Lower case, character by character as Postgres has it: no character becomes two, and none depends on its place in a word.
 */
function lowered(text: string): string {
  return Array.from(text, (character) => {
    const lower = character.toLowerCase();
    return lower.length === character.length ? lower : character;
  }).join("");
}

type TextOperator = (text: string, operand: string) => boolean;

const TEXT_OPERATORS: ReadonlyMap<string, TextOperator> = new Map<string, TextOperator>([
  ["like", (text, operand) => isLike(text, likePattern(operand))],
  ["startsWith", (text, operand) => isLike(text, `${literal(operand)}%`)],
  ["endsWith", (text, operand) => isLike(text, `%${literal(operand)}`)],
  ["contains", (text, operand) => isLike(text, `%${literal(operand)}%`)],
  ["regexp", (text, operand) => isFound(text, operand)],
  ["!regexp", (text, operand) => !isFound(text, operand)],
]);

/** A pattern is read even where there is no text: a bad one is a problem of the filter, whatever the contact. */
function ofTextOf({ text, kind }: MemoryValue, operator: TextOperator, operand: string): boolean {
  const holdsForText = operator(asText(text ?? "", kind), operand);
  return text !== null && holdsForText;
}

/** Dates as they are written: `2024-05-01`, `2024-05-01 10:00:00`. */
function asText(text: string, kind: ValueKind): string {
  if (kind === "boolean") return text === "" ? "" : String(booleanText(text));
  if (text === "" || (kind !== "date" && kind !== "datetime")) return text;
  const iso = new Date(momentOf(text)).toISOString();
  return kind === "date" ? iso.slice(0, 10) : iso.slice(0, 19).replace("T", " ");
}

/** LIKE without regard to case, in time proportional to the text times its pattern. `_` is one character, `%` any number. */
function isLike(text: string, pattern: string): boolean {
  const [first = [], ...others] = partsOf(lowered(pattern));
  const characters = Array.from(lowered(text));
  if (others.length === 0) return characters.length === first.length && isPartAt(characters, first, 0);
  const last = others.pop() ?? [];
  const end = characters.length - last.length;
  if (first.length > end || !isPartAt(characters, first, 0) || !isPartAt(characters, last, end)) return false;
  let at = first.length;
  for (const part of others) {
    while (at + part.length <= end && !isPartAt(characters, part, at)) at += 1;
    if (at + part.length > end) return false;
    at += part.length;
  }
  return true;
}

const ANY_CHARACTER = Symbol("any character");
type Part = (string | typeof ANY_CHARACTER)[];

/** The parts of a pattern between its `%`. A backslash takes the meaning of the character behind it. */
function partsOf(pattern: string): Part[] {
  const parts: Part[] = [[]];
  let isEscaped = false;
  for (const character of pattern) {
    const part = parts.at(-1);
    if (isEscaped) part?.push(character);
    else if (character === "%") parts.push([]);
    else if (character === "_") part?.push(ANY_CHARACTER);
    else if (character !== "\\") part?.push(character);
    isEscaped = !isEscaped && character === "\\";
  }
  return parts;
}

function isPartAt(characters: string[], part: Part, at: number): boolean {
  return part.every((expected, index) =>
    expected === ANY_CHARACTER ? at + index < characters.length : characters[at + index] === expected,
  );
}

/** A regular expression looks at so much of a text: its time grows with the text times the pattern. */
const SEARCHED_MAX = 2_000;
const PATTERNS_KEPT = 500;
const patterns = new Map<string, RE2JS>();

/** RE2 takes time in proportion to the text, whatever the pattern (Cox, "Regular Expression Matching Can Be Simple And Fast"). */
function isFound(text: string, pattern: string): boolean {
  return compiled(pattern).matcher(text.slice(0, SEARCHED_MAX)).find();
}

function compiled(pattern: string): RE2JS {
  const known = patterns.get(pattern);
  if (known) return known;
  const made = RE2JS.compile(safePattern(pattern, "re2"), RE2JS.CASE_INSENSITIVE | RE2JS.DOTALL);
  if (patterns.size >= PATTERNS_KEPT) patterns.clear();
  patterns.set(pattern, made);
  return made;
}

/** A list of values is any one of them. */
function holdsForOne(value: MemoryValue, operator: string, operand: FilterValue, today: number): boolean {
  if (operator === "between") return isBetween(value, operand, today);
  if (operator !== "in" && operator !== "=") throw new FilterProblem("The operator takes one value.");
  // Each is read: a bad one is a problem of the filter, whatever the contact.
  return listOf(operand)
    .map((text) => holds(value, "=", text, today))
    .includes(true);
}

function isBetween(value: MemoryValue, operand: FilterValue, today: number): boolean {
  const [low, high, ...rest] = listOf(operand);
  if (low === undefined || high === undefined || rest.length > 0)
    throw new FilterProblem("between takes two values.");
  return [holds(value, "gte", low, today), holds(value, "lte", high, today)].every(Boolean);
}

type Order = (one: number | string, other: number | string) => boolean;

const ORDERS: ReadonlyMap<string, Order> = new Map<string, Order>([
  ["=", (one, other) => one === other],
  ["gt", (one, other) => one > other],
  ["gte", (one, other) => one >= other],
  ["lt", (one, other) => one < other],
  ["lte", (one, other) => one <= other],
]);

function orderOf(operator: string): Order {
  const order = ORDERS.get(operator);
  if (!order) throw new FilterProblem("The operator takes two values.");
  return order;
}

function holdsForScalar({ text, kind }: MemoryValue, operator: string, operand: string): boolean {
  const order = orderOf(operator);
  if (kind === "number") {
    const number = Number(numberOf(operand));
    return text !== null && order(Number(text), number);
  }
  if (kind === "boolean") {
    const wanted = Number(booleanOf(operand));
    return text !== null && order(Number(booleanText(text)), wanted);
  }
  return text !== null && order(lowered(text), lowered(operand));
}

/** A boolean in Postgres' text form, or as an added field keeps it. */
function booleanText(text: string): boolean {
  return text === "t" || text === "1" || text === "true";
}

function holdsForDate(text: string | null, operator: string, operand: string, today: number): boolean {
  const order = orderOf(operator);
  const date = readDateValue(operand, today);
  if (text === null) return false;
  const moment = momentOf(text);
  if (date.kind === "anniversary") return new Date(moment).toISOString().slice(5, 10) === date.monthAndDay;
  if (operator === "=") return moment >= date.from && moment < date.until;
  return order(moment, boundOf(operator, date));
}

/** Milliseconds since the epoch of a date or a timestamptz in Postgres' text form, in UTC. */
function momentOf(text: string): number {
  const [day = "", time = "00:00:00"] = text.split(/[ T]/);
  return Date.parse(`${day}T${time.replace(/(?:Z|[+-]\d\d(?::?\d\d)?)$/, "")}Z`);
}

type OptionOperator = (text: string | null, options: string[]) => boolean;

/** `in` asks for all of the options, `!in` for none of them. */
const OPTION_OPERATORS: ReadonlyMap<string, OptionOperator> = new Map<string, OptionOperator>([
  ["in", hasAll],
  ["=", hasAll],
  ["!in", hasNone],
  ["!=", hasNone],
]);

function chosen(text: string): Set<string> {
  // Postgres makes no item of an empty text.
  return new Set(text === "" ? [] : lowered(text).split("|"));
}

function hasAll(text: string | null, options: string[]): boolean {
  if (text === null) return false;
  const items = chosen(text);
  return options.every((option) => items.has(option));
}

function hasNone(text: string | null, options: string[]): boolean {
  if (text === null) return true;
  const items = chosen(text);
  return !options.some((option) => items.has(option));
}
