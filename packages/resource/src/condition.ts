import type { Condition } from "@tidings/proto/tidings/type/v1/list";
import { badRequest } from "@tidings/rpc/fault";
import { DATE_FORMS, parseDateText } from "@tidings/runtime/date-text";
import { yesOrNoOf } from "@tidings/runtime/plain-text";
import { type RawBuilder, sql } from "kysely";
import type { ColumnType } from "./columns.ts";
import { totalOfRows, withTotal } from "./kept-total.ts";

/** A column a caller may name: the SQL it stands for, and how its values are read. */
export interface Filterable {
  sql: RawBuilder<unknown>;
  type: ColumnType;
  /** Equality with a text, where it takes another form than comparing `sql` so that an index serves it. */
  equals?(value: string): RawBuilder<unknown>;
  near?: Near | undefined;
  /** The table that has the column, where that is none of the list's own. */
  beside?: Beside | undefined;
  /** The kept total of the rows with a value, or without one (null). */
  total?: TotalOfValue | undefined;
}

/** A table with one row for each row of a list. */
export interface Beside {
  /** SQL: how it is joined. */
  join: RawBuilder<unknown>;
  /** SQL: the id of the row there, which is a part of its indexes. */
  id: RawBuilder<unknown>;
}

export type TotalOfValue = (value: string | boolean | null) => RawBuilder<unknown> | undefined;

/**
 * The rows that an index finds for ILIKE patterns of a whole text: those with a text that matches one of them, and some more.
 * Undefined where no index helps.
 */
export type Near = (patterns: string[]) => RawBuilder<unknown> | undefined;

/** API name to column. What is not in the map does not exist. */
export type ColumnMap = ReadonlyMap<string, Filterable>;

type Predicate = RawBuilder<unknown>;

/** The predicate of who sees all there is: where it is all there is to ask, a total that is kept is the answer. */
export const EVERYTHING = sql`true`;

const DEPTH_MAX = 5;
const VALUES_MAX = 1_000;
/** With more values, each row is tested instead. */
const LOOKED_UP_MAX = 50;

/** The `where` clauses of a list as one predicate. Names come from the map, values travel as parameters. */
export function wherePredicate(conditions: Condition[], columns: ColumnMap, depth = 1): Predicate[] {
  if (depth > DEPTH_MAX) throw badRequest("The where clause is nested too deeply.");
  return conditions.map((condition) => conditionPredicate(condition, columns, depth));
}

function conditionPredicate(condition: Condition, columns: ColumnMap, depth: number): Predicate {
  if (condition.expr === "andX") return all(wherePredicate(condition.conditions, columns, depth + 1));
  if (condition.expr === "orX") return any(wherePredicate(condition.conditions, columns, depth + 1));
  const column = knownColumn(columns, condition.column);
  const compare = Object.hasOwn(EXPRESSIONS, condition.expr) && EXPRESSIONS[condition.expr];
  if (!compare) throw badRequest(`Unknown expression "${condition.expr}" in the where clause.`);
  if (condition.values.length > VALUES_MAX) throw badRequest(`At most ${VALUES_MAX} values are supported.`);
  return compare(column, condition.values);
}

export function knownColumn(columns: ColumnMap, name: string): Filterable {
  const column = columns.get(name);
  if (!column) throw badRequest(`Unknown column "${name}".`);
  return column;
}

const EXPRESSIONS: Record<string, (column: Filterable, values: string[]) => Predicate> = {
  eq: (column, values) =>
    withTotal(equal(column, one(values)), column.total?.(totalledValue(column, one(values)))),
  neq: (column, values) => sql`${comparable(column)} <> ${operand(column, one(values))}`,
  gt: (column, values) => sql`${comparable(column)} > ${operand(column, one(values))}`,
  gte: (column, values) => sql`${comparable(column)} >= ${operand(column, one(values))}`,
  lt: (column, values) => sql`${comparable(column)} < ${operand(column, one(values))}`,
  lte: (column, values) => sql`${comparable(column)} <= ${operand(column, one(values))}`,
  like: (column, values) => like(column, likePattern(one(values))),
  notLike: (column, values) => sql`${asText(column)} not ilike ${likePattern(one(values))}`,
  in: (column, values) => oneOf(column, values),
  notIn: (column, values) => sql`${comparable(column)} not in (${operands(column, values)})`,
  between: (column, values) => sql`${comparable(column)} between ${range(column, values)}`,
  notBetween: (column, values) => sql`${comparable(column)} not between ${range(column, values)}`,
  isNull: (column) => withTotal(sql`${column.sql} is null`, column.total?.(null)),
  isNotNull: (column) => sql`${column.sql} is not null`,
  isEmpty: (column) => sql`coalesce(${asText(column)}, '') = ''`,
  isNotEmpty: (column) => sql`coalesce(${asText(column)}, '') <> ''`,
};

function totalledValue({ type }: Filterable, value: string): string | boolean {
  return type === "boolean" ? boolean(value) : value;
}

function equal(column: Filterable, value: string): Predicate {
  const patterns = [literalPattern(value)];
  const exact = column.equals?.(value);
  if (!exact) return narrowed(sql`${comparable(column)} = ${operand(column, value)}`, column.near, patterns);
  // It has an index of its own, but beside others that have not it is looked for with them.
  if (column.near?.(patterns)) narrowings.set(exact, { near: column.near, patterns, predicate: exact });
  return exact;
}

function like(column: Filterable, pattern: string): Predicate {
  return narrowed(sql`${asText(column)} ilike ${pattern}`, column.near, [pattern]);
}

function oneOf(column: Filterable, values: string[]): Predicate {
  const isFound = values.length > 0 && values.length <= LOOKED_UP_MAX;
  if (isFound && (column.equals || column.near)) return any(values.map((value) => equal(column, value)));
  return sql`${comparable(column)} in (${operands(column, values)})`;
}

interface Narrowing {
  near: Near;
  patterns: string[];
  /** The predicate that was narrowed. */
  predicate: Predicate;
}

/** The narrower predicate of each narrowed one. */
const narrowings = new WeakMap<Predicate, Narrowing>();

/** The predicate, among the rows that an index finds for one of the patterns. */
export function narrowed(predicate: Predicate, near: Near | undefined, patterns: string[]): Predicate {
  const found = near?.(patterns);
  if (!near || !found) return predicate;
  const result = sql`(${found} and ${predicate})`;
  narrowings.set(result, { near, patterns, predicate });
  return result;
}

/** The pattern of LIKE that only this text matches. */
function literalPattern(text: string): string {
  return text.replaceAll(/[\\%_]/g, "\\$&");
}

/** Text compares without regard to case, as the API's clients expect. */
function comparable(column: Filterable): Predicate {
  return column.type === "text" ? sql`lower(${column.sql})` : column.sql;
}

function asText(column: Filterable): Predicate {
  return column.type === "text" ? column.sql : sql`${column.sql}::text`;
}

function operand(column: Filterable, value: string): Predicate {
  switch (column.type) {
    case "text":
      return sql`lower(${value}::text)`;
    case "integer":
      return sql`${integer(value)}::bigint`;
    case "double":
      return sql`${number(value)}::double precision`;
    case "boolean":
      return sql`${boolean(value)}::boolean`;
    case "timestamp":
      return sql`${timestamp(value)}::timestamptz`;
    case "json":
      throw badRequest("This column cannot be compared.");
  }
}

function operands(column: Filterable, values: string[]): Predicate {
  if (values.length === 0) throw badRequest("The where clause names no values.");
  return sql.join(values.map((value) => operand(column, value)));
}

function range(column: Filterable, values: string[]): Predicate {
  const [low, high, ...rest] = values;
  if (low === undefined || high === undefined || rest.length > 0)
    throw badRequest("between takes two values.");
  return sql`${operand(column, low)} and ${operand(column, high)}`;
}

function one(values: string[]): string {
  const [value, ...rest] = values;
  if (value === undefined || rest.length > 0) throw badRequest("The expression takes one value.");
  return value;
}

function integer(text: string): string {
  if (!/^-?\d{1,18}$/.test(text)) throw badRequest(`"${printable(text)}" is not a whole number.`);
  return text;
}

function number(text: string): string {
  if (text.trim() === "" || !Number.isFinite(Number(text)))
    throw badRequest(`"${printable(text)}" is not a number.`);
  return String(Number(text));
}

function boolean(text: string): boolean {
  const value = yesOrNoOf(text);
  if (value === undefined) throw badRequest(`"${printable(text)}" is neither true nor false.`);
  return value;
}

function timestamp(text: string): string {
  const milliseconds = parseDateText(text);
  if (milliseconds === undefined) throw badRequest(`"${printable(text)}" is ${DATE_FORMS}.`);
  return new Date(milliseconds).toISOString();
}

/** The caller's `%` and `_` are wildcards; a backslash stands for itself. */
function likePattern(text: string): string {
  return text.replaceAll("\\", "\\\\");
}

function printable(text: string): string {
  return text.slice(0, 50);
}

export function all(predicates: Predicate[]): Predicate {
  if (predicates.length === 0) return sql`true`;
  const predicate = sql`(${sql.join(predicates, sql` and `)})`;
  const narrowing = predicates.map((part) => narrowings.get(part)).find((found) => found !== undefined);
  if (narrowing) narrowings.set(predicate, { ...narrowing, predicate });
  const [only, ...others] = predicates;
  return only && others.length === 0 ? withTotal(predicate, totalOfRows(only)) : predicate;
}

/** Where each of several is narrowed they are looked for together: Postgres joins no two look-ups by OR. */
export function any(predicates: Predicate[]): Predicate {
  if (predicates.length === 0) return sql`false`;
  const parts = predicates.flatMap((predicate) => narrowings.get(predicate) ?? []);
  const near = parts[0]?.near;
  const areNarrowed = parts.length === predicates.length && parts.every((part) => part.near === near);
  const joined = (some: Predicate[]) => sql`(${sql.join(some, sql` or `)})`;
  if (predicates.length === 1 || !areNarrowed) return joined(predicates);
  return narrowed(
    joined(parts.map(({ predicate }) => predicate)),
    near,
    parts.flatMap(({ patterns }) => patterns),
  );
}
