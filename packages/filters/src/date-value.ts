import { DATE_FORMS, readDateText } from "@tidings/runtime/date-text";
import { FilterProblem } from "./filter.ts";

/** The value that a date is compared with; times are milliseconds since the epoch. */
export type DateValue =
  | {
      kind: "period";
      /** A date in this period is equal; `until` is not part of it. */
      from: number;
      until: number;
      /** `lt` and `gte` compare with it. */
      low: number;
      /** `gt` and `lte` compare with it. */
      high: number;
      isRelative: boolean;
    }
  /** The same day of any year, `MM-DD`. */
  | { kind: "anniversary"; monthAndDay: string };

const DAY_MS = 86_400_000;
const SECOND_MS = 1_000;
const EARLIEST = Date.UTC(100, 0, 1);
const LATEST = Date.UTC(9999, 11, 31);
const COUNT_MAX = 100_000;
const LITERAL = /^(\d{4}-\d\d-\d\d)(?:[ T](\d\d:\d\d)(?::(\d\d))?)?$/;
const SHIFT = /^([+-]?)(\d{1,6}) (day|week|month|year)s?( ago)?$/;
const WORD = /^(last|previous|this|next) (week|month|year)$/;
const EDGE = /^(first|last) day of (last|previous|this|next) (month|year)$/;
const ANNIVERSARY = /^(?:birthday|anniversary)(?: (.+))?$/;
const DAYS = new Map([
  ["yesterday", -1],
  ["today", 0],
  ["tomorrow", 1],
]);
const STEPS = new Map([
  ["last", -1],
  ["previous", -1],
  ["this", 0],
  ["next", 1],
]);

type Unit = "day" | "week" | "month" | "year";

/** Reads a date, a keyword or a distance from `today`, a midnight in UTC. Throws FilterProblem. */
export function readDateValue(text: string, today: number): DateValue {
  const words = text.trim().toLowerCase();
  const value =
    readLiteral(words) ??
    readPeriod(words, today) ??
    readDay(words, today) ??
    readYearly(words, today) ??
    readMoment(words, today);
  if (value && !isOutOfRange(value)) return value;
  throw new FilterProblem(
    `"${text.slice(0, 50)}" is neither a keyword such as today, last month, -3 days or birthday, nor a date: ${DATE_FORMS}.`,
  );
}

/** Beyond the years that have four digits. */
function isOutOfRange(value: DateValue): boolean {
  return value.kind === "period" && (value.from < EARLIEST || value.until > LATEST);
}

function readLiteral(text: string): DateValue | undefined {
  const [, date, time, seconds = "00"] = LITERAL.exec(text) ?? [];
  if (date === undefined) return undefined;
  const at = Date.parse(`${date}T${time ?? "00:00"}:${seconds}Z`);
  // A 31st of June would be the 1st of July.
  if (Number.isNaN(at) || !new Date(at).toISOString().startsWith(date)) return undefined;
  const lengthMs = time === undefined ? DAY_MS : SECOND_MS;
  return { kind: "period", from: at, until: at + lengthMs, low: at, high: at, isRelative: false };
}

/** Whatever else names a moment or a day in a body or a query. */
function readMoment(text: string, today: number): DateValue | undefined {
  const date = readDateText(text, today);
  if (!date) return undefined;
  const at = date.milliseconds - (date.milliseconds % SECOND_MS);
  const until = at + (date.hasTime ? SECOND_MS : DAY_MS);
  return { kind: "period", from: at, until, low: at, high: at, isRelative: date.isRelative };
}

/** Words for a whole day, week, month or year. */
function readPeriod(text: string, today: number): DateValue | undefined {
  const day = DAYS.get(text);
  const [, word = "", unit] = WORD.exec(text) ?? [];
  if (day === undefined && unit === undefined) return undefined;
  const [from, until] =
    day === undefined
      ? periodOf(unit as Unit, STEPS.get(word) ?? 0, today)
      : [today + day * DAY_MS, today + (day + 1) * DAY_MS];
  return { kind: "period", from, until, low: from, high: until - SECOND_MS, isRelative: true };
}

function periodOf(unit: Unit, step: number, today: number): [from: number, until: number] {
  const start = startOf(unit, today);
  return [shifted(start, step, unit), shifted(start, step + 1, unit)];
}

function startOf(unit: Unit, today: number): number {
  const date = new Date(today);
  if (unit === "year") return Date.UTC(date.getUTCFullYear(), 0, 1);
  if (unit === "month") return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
  // A week begins on Monday.
  return today - ((date.getUTCDay() + 6) % 7) * DAY_MS;
}

/** A day some way from today, or the first or last one of a month or year. */
function readDay(text: string, today: number): DateValue | undefined {
  const at = shiftedBy(text, today) ?? edgeOf(text, today);
  if (at === undefined) return undefined;
  return { kind: "period", from: at, until: at + DAY_MS, low: at, high: at, isRelative: true };
}

function shiftedBy(text: string, today: number): number | undefined {
  const [, sign, digits, unit, ago] = SHIFT.exec(text) ?? [];
  if (unit === undefined || (sign === "" && !ago)) return undefined;
  const count = Number(digits);
  if (count > COUNT_MAX || (unit === "year" && count > 1_000) || (unit === "month" && count > 12_000))
    throw new FilterProblem("The distance of a date is too long.");
  return shifted(today, sign === "-" || ago ? -count : count, unit as Unit);
}

function edgeOf(text: string, today: number): number | undefined {
  const [, edge, word = "", unit] = EDGE.exec(text) ?? [];
  if (unit === undefined) return undefined;
  const [from, until] = periodOf(unit as Unit, STEPS.get(word) ?? 0, today);
  return edge === "first" ? from : until - DAY_MS;
}

function readYearly(text: string, today: number): DateValue | undefined {
  const match = ANNIVERSARY.exec(text);
  if (!match) return undefined;
  const at = match[1] === undefined ? today : shiftedBy(match[1], today);
  return at === undefined
    ? undefined
    : { kind: "anniversary", monthAndDay: new Date(at).toISOString().slice(5, 10) };
}

/** Months and years keep the day where the other month has it, else they end on its last. */
function shifted(at: number, count: number, unit: Unit): number {
  if (unit === "day") return at + count * DAY_MS;
  if (unit === "week") return at + count * 7 * DAY_MS;
  const date = new Date(at);
  const months = date.getUTCMonth() + (unit === "month" ? count : 12 * count);
  const lastDay = new Date(Date.UTC(date.getUTCFullYear(), months + 1, 0)).getUTCDate();
  return Date.UTC(date.getUTCFullYear(), months, Math.min(date.getUTCDate(), lastDay));
}

/** The moment that an operator besides equality compares with. */
export function boundOf(operator: string, { low, high }: Extract<DateValue, { kind: "period" }>): number {
  return operator === "lt" || operator === "gte" ? low : high;
}
