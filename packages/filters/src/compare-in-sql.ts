import { type RawBuilder, sql } from "kysely";
import { boundOf, readDateValue } from "./date-value.ts";
import { FilterProblem, type FilterValue } from "./filter.ts";
import { booleanOf, isBlank, likePattern, listOf, literal, numberOf, textOf } from "./operand.ts";
import { counterpartOf, type ValueKind } from "./operators.ts";
import { safePattern } from "./pattern.ts";

export type Predicate = RawBuilder<unknown>;

/** Something a filter compares: an SQL expression, null when there is nothing. */
export interface Value {
  sql: RawBuilder<unknown>;
  kind: ValueKind;
  /** Equality of texts in the form an index serves. */
  equals?: ((text: string) => Predicate) | undefined;
}

export interface Comparison {
  predicate: Predicate;
  /** Does the result depend on the day it is asked for? */
  isDaily: boolean;
}

/** Compares a value; throws FilterProblem for an operand that cannot be. `today` is a midnight in UTC. */
export function compare(value: Value, operator: string, operand: FilterValue, today: number): Comparison {
  const ofOptions = value.kind === "options" && OPTION_OPERATORS[operator];
  if (ofOptions && !isBlank(operand)) return constant(ofOptions(value.sql, listOf(operand)));
  const positive = counterpartOf(operator);
  if (positive) {
    const { predicate, isDaily } = compare(value, positive, operand, today);
    return { predicate: sql`(${predicate}) is not true`, isDaily };
  }
  if (operator === "!empty") return constant(sql`not ${isEmpty(value)}`);
  if (operator === "empty" || (operator === "=" && isBlank(operand))) return constant(isEmpty(value));
  const ofText = TEXT_OPERATORS[operator];
  if (ofText) return constant(ofText(asText(value), textOf(operand)));
  if (operator === "in" || Array.isArray(operand)) return compareEach(value, operator, operand, today);
  if (value.kind === "date" || value.kind === "datetime")
    return compareDate(value.sql, operator, textOf(operand), today);
  return constant(compareScalar(value, operator, operand));
}

function constant(predicate: Predicate): Comparison {
  return { predicate, isDaily: false };
}

function isEmpty({ sql: value, kind }: Value): Predicate {
  return kind === "text" || kind === "options" ? sql`(coalesce(${value}, '') = '')` : sql`(${value} is null)`;
}

const TEXT_OPERATORS: Record<
  string,
  ((text: RawBuilder<unknown>, operand: string) => Predicate) | undefined
> = {
  like: (text, operand) => sql`${text} ilike ${likePattern(operand)}`,
  startsWith: (text, operand) => sql`${text} ilike ${`${literal(operand)}%`}`,
  endsWith: (text, operand) => sql`${text} ilike ${`%${literal(operand)}`}`,
  contains: (text, operand) => sql`${text} ilike ${`%${literal(operand)}%`}`,
  regexp: (text, operand) => sql`${text} ~* ${safePattern(operand)}`,
  "!regexp": (text, operand) => sql`${text} !~* ${safePattern(operand)}`,
};

/** Dates read as they are written: `2024-05-01`, `2024-05-01 10:00:00`. */
function asText({ sql: value, kind }: Value): RawBuilder<unknown> {
  if (kind === "text") return value;
  if (kind === "date") return sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD')`;
  if (kind === "datetime") return sql`to_char(${value} at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS')`;
  return sql`(${value})::text`;
}

/** A list of values is any one of them. */
function compareEach(value: Value, operator: string, operand: FilterValue, today: number): Comparison {
  if (operator === "between") return compareBetween(value, operand, today);
  if (operator !== "in" && operator !== "=") throw new FilterProblem("The operator takes one value.");
  const texts = listOf(operand);
  const [first] = texts;
  if (texts.length === 1 && first !== undefined) return compare(value, "=", first, today);
  switch (value.kind) {
    case "number":
      return constant(sql`${value.sql} = any(${texts.map(numberOf)}::numeric[])`);
    case "boolean":
      return constant(sql`${value.sql} = any(${texts.map(booleanOf)}::boolean[])`);
    case "date":
    case "datetime":
      return compareDates(value.sql, texts, today);
    default:
      return constant(sql`lower(${value.sql}) = any(${lowered(texts)})`);
  }
}

/** Any of several dates, however many they are, in two parameters: periods, and days of any year. */
function compareDates(value: RawBuilder<unknown>, texts: string[], today: number): Comparison {
  const dates = texts.map((text) => readDateValue(text, today));
  const periods = dates.filter((date) => date.kind === "period");
  const days = dates.flatMap((date) => (date.kind === "anniversary" ? [date.monthAndDay] : []));
  const bounds = periods.map(({ from, until }) => [from, until].map((ms) => new Date(ms).toISOString()));
  const predicate = sql`(exists (
      select from unnest(${bounds.map(([from]) => from)}::timestamptz[], ${bounds.map(([, until]) => until)}::timestamptz[])
        as period(since, before) where ${value} >= since and ${value} < before)
    or to_char(${value} at time zone 'UTC', 'MM-DD') = any(${days}::text[]))`;
  return { predicate, isDaily: days.length > 0 || periods.some(({ isRelative }) => isRelative) };
}

function compareBetween(value: Value, operand: FilterValue, today: number): Comparison {
  const [low, high, ...rest] = listOf(operand);
  if (low === undefined || high === undefined || rest.length > 0)
    throw new FilterProblem("between takes two values.");
  const from = compare(value, "gte", low, today);
  const until = compare(value, "lte", high, today);
  return {
    predicate: sql`(${from.predicate} and ${until.predicate})`,
    isDaily: from.isDaily || until.isDaily,
  };
}

const SIGNS: Record<string, RawBuilder<unknown> | undefined> = {
  "=": sql`=`,
  gt: sql`>`,
  gte: sql`>=`,
  lt: sql`<`,
  lte: sql`<=`,
};

function signOf(operator: string): RawBuilder<unknown> {
  const sign = SIGNS[operator];
  if (!sign) throw new FilterProblem("The operator takes two values.");
  return sign;
}

function compareScalar(
  { sql: value, kind, equals }: Value,
  operator: string,
  operand: FilterValue,
): Predicate {
  const sign = signOf(operator);
  const text = textOf(operand);
  if (kind === "number") return sql`${value} ${sign} ${numberOf(text)}::numeric`;
  if (kind === "boolean") return sql`${value} ${sign} ${booleanOf(text)}::boolean`;
  if (operator === "=" && equals) return equals(text);
  return sql`lower(${value}) ${sign} lower(${text}::text)`;
}

function compareDate(value: RawBuilder<unknown>, operator: string, text: string, today: number): Comparison {
  const sign = signOf(operator);
  const date = readDateValue(text, today);
  if (date.kind === "anniversary") {
    const predicate = sql`to_char(${value} at time zone 'UTC', 'MM-DD') = ${date.monthAndDay}`;
    return { predicate, isDaily: true };
  }
  const { isRelative: isDaily } = date;
  if (operator === "=")
    return { predicate: sql`(${value} >= ${at(date.from)} and ${value} < ${at(date.until)})`, isDaily };
  return { predicate: sql`${value} ${sign} ${at(boundOf(operator, date))}`, isDaily };
}

function at(milliseconds: number): RawBuilder<unknown> {
  return sql`${new Date(milliseconds).toISOString()}::timestamptz`;
}

/** `in` asks for all of the options, `!in` for none of them. */
const OPTION_OPERATORS: Record<
  string,
  ((value: RawBuilder<unknown>, options: string[]) => Predicate) | undefined
> = {
  in: (value, options) => sql`${chosen(value)} @> ${lowered(options)}`,
  "=": (value, options) => sql`${chosen(value)} @> ${lowered(options)}`,
  "!in": (value, options) => sql`(${chosen(value)} && ${lowered(options)}) is not true`,
  "!=": (value, options) => sql`(${chosen(value)} && ${lowered(options)}) is not true`,
};

function chosen(value: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`string_to_array(lower(${value}), '|')`;
}

/** By the rules of the database, which differ from ours in some languages. */
function lowered(texts: string[]): RawBuilder<unknown> {
  return sql`array(select lower(t) from unnest(${texts}::text[]) as t)`;
}
