import { create } from "@bufbuild/protobuf";
import {
  type Condition,
  ConditionSchema,
  type ListQuery,
  ListQuerySchema,
  type Order,
  OrderSchema,
} from "@tidings/proto/tidings/type/v1/list";
import { badRequest } from "@tidings/rpc/fault";
import type { Cursors } from "./cursor.ts";
import { sentCursor } from "./cursor-page.ts";
import type { Query } from "./query.ts";

export interface ListLimits {
  pageSize: number;
  /** The most rows a page may have; also what `limit=0` means. */
  limitMax: number;
  cursors: Cursors;
}

export interface ListParameters {
  query: ListQuery;
  /** Members to write of each row; all when absent. */
  select: ReadonlySet<string> | undefined;
  minimal: boolean;
  /** The cursor that was sent, empty for the first page; undefined where pages are counted by `start`. */
  cursor: string | undefined;
  cursors: Cursors;
}

const START_MAX = 10_000_000;
const DEPTH_MAX = 5;
const CLAUSES_MAX = 50;
const TEXT_LENGTH_MAX = 1_000;
const LIST_LENGTH_MAX = 20_000;

/** The list parameters of a request. Column names are passed on as sent: the service that owns them knows them. */
export function readListParameters(query: Query, limits: ListLimits): ListParameters {
  const clauses = { count: 0 };
  const cursor = sentCursor(query);
  const skip = wholeNumber(query, "start", START_MAX) ?? 0;
  if (cursor !== undefined && skip > 0) throw badRequest("A page is at a cursor or at a start, not at both.");
  return {
    query: create(ListQuerySchema, {
      search: text(query, "search"),
      skip,
      pageSize: pageSize(query, limits),
      order: order(query),
      where: items(query.where, "where").flatMap((clause) => condition(clause, 1, clauses)),
      publishedOnly: truthy(query, "publishedOnly") || truthy(query, "published"),
      skipTotal: count(query) === "none",
    }),
    select: selection(query),
    minimal: truthy(query, "minimal"),
    cursor,
    cursors: limits.cursors,
  };
}

/** Whether the list says how many rows there are: `exact`, or `none`. */
function count(query: Query): string {
  const sent = text(query, "count") || "exact";
  if (sent !== "exact" && sent !== "none") throw badRequest("count is exact or none.");
  return sent;
}

export function selection(query: Query): ReadonlySet<string> | undefined {
  const names = items(query.select, "select").map((name) => {
    if (typeof name !== "string") throw badRequest("select is a list of names.");
    return name;
  });
  return names.length > 0 ? new Set(names) : undefined;
}

function pageSize(query: Query, { pageSize, limitMax }: ListLimits): number {
  const limit = wholeNumber(query, "limit", Number.MAX_SAFE_INTEGER) ?? pageSize;
  if (limit > limitMax) throw badRequest(`limit may be at most ${limitMax}.`);
  return limit === 0 ? limitMax : limit;
}

/** `order[i][col|dir]`, else `orderBy` (a comma list) and `orderByDir`. */
function order(query: Query): Order[] {
  const statements = items(query.order, "order").map((statement) => {
    const { col, column = col, dir = "asc" } = object(statement, "order");
    if (typeof column !== "string" || column === "")
      throw badRequest('"col" is missing in the order clause.');
    return create(OrderSchema, { column, descending: isDescending(dir) });
  });
  if (statements.length > 0) return statements;
  const descending = isDescending(query.orderByDir || "asc");
  const columns = text(query, "orderBy")
    .split(",")
    .map((column) => column.trim())
    .filter((column) => column !== "");
  return columns.map((column) => create(OrderSchema, { column, descending }));
}

function isDescending(direction: unknown): boolean {
  const word = typeof direction === "string" ? direction.toLowerCase() : "";
  if (word !== "asc" && word !== "desc") throw badRequest("The direction of an order is asc or desc.");
  return word === "desc";
}

/** One clause. A clause that claims to come from inside is dropped, as clients have learnt. */
function condition(input: unknown, depth: number, clauses: { count: number }): Condition[] {
  const clause = object(input, "where");
  if (Object.hasOwn(clause, "internal")) return [];
  clauses.count += 1;
  if (clauses.count > CLAUSES_MAX) throw badRequest(`At most ${CLAUSES_MAX} where clauses are supported.`);
  if (depth > DEPTH_MAX) throw badRequest("The where clause is nested too deeply.");
  const { expr, col, column = col, val, value = val } = clause;
  if (typeof expr !== "string") throw badRequest('"expr" is missing in the where clause.');
  if (expr === "andX" || expr === "orX") {
    const conditions = items(value, "where").flatMap((nested) => condition(nested, depth + 1, clauses));
    return [create(ConditionSchema, { expr, conditions })];
  }
  if (typeof column !== "string") throw badRequest('"col" is missing in the where clause.');
  return [create(ConditionSchema, { expr, column, values: operands(expr, value) })];
}

function operands(expr: string, value: unknown): string[] {
  const isList = expr === "in" || expr === "notIn";
  if (isList && typeof value === "string" && value.length <= LIST_LENGTH_MAX)
    return commaSeparated(value).map(operand);
  if (typeof value === "object") return items(value, "where").map(operand);
  if (value === undefined) return [];
  return [operand(value)];
}

function operand(value: unknown): string {
  if (typeof value !== "string" || value.length > TEXT_LENGTH_MAX)
    throw badRequest("A where clause has a bad value.");
  return value;
}

/** `a,"b,c"`: quotes keep a comma. */
function commaSeparated(list: string): string[] {
  const fields = list.match(/\s*"(?:[^"]|"")*"\s*|[^,]+/g) ?? [];
  return fields.map((field) => {
    const value = field.trim();
    return value.startsWith('"') ? value.slice(1, -1).replaceAll('""', '"') : value;
  });
}

function items(value: unknown, name: string): unknown[] {
  if (value === undefined || value === "") return [];
  if (typeof value !== "object" || value === null)
    return name === "select" ? [value] : Object.values(object(value, name));
  return Object.values(value);
}

function object(value: unknown, name: string): Record<string, unknown> {
  if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  throw badRequest(`${name} is not in the form it should have.`);
}

function text(query: Query, name: string, lengthMax = TEXT_LENGTH_MAX): string {
  const value = query[name] ?? "";
  if (typeof value !== "string" || value.length > lengthMax) throw badRequest(`${name} is not valid.`);
  return value;
}

function wholeNumber(query: Query, name: string, max: number): number | undefined {
  const value = text(query, name);
  if (value === "") return undefined;
  if (!/^\d{1,16}$/.test(value)) throw badRequest(`${name} must be a whole number that is not negative.`);
  if (Number(value) > max) throw badRequest(`${name} may be at most ${max}.`);
  return Number(value);
}

function truthy(query: Query, name: string): boolean {
  return !["", "0", "false", "off", "no"].includes(text(query, name).toLowerCase());
}
