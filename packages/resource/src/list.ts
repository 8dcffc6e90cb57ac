import { compileSql } from "@tidings/database/compile-sql";
import type { Database } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Condition, ListQuery, Order } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { badRequest } from "@tidings/rpc/fault";
import { type RawBuilder, sql } from "kysely";
import { all, type ColumnMap, EVERYTHING, knownColumn, type Near, wherePredicate } from "./condition.ts";
import { totalOfRows } from "./kept-total.ts";
import { idsAfter, ordered, type Term } from "./position.ts";
import { type SearchCommand, searchPredicate } from "./search.ts";

/** The definition of a resource's list. Every SQL fragment in it is a constant of the program. */
export interface ListSource {
  /** The table and the alias its columns are named by. */
  from: RawBuilder<unknown>;
  id: RawBuilder<unknown>;
  /** The select list of a row. */
  select: RawBuilder<unknown>;
  columns: ColumnMap;
  published: RawBuilder<unknown> | undefined;
  /** SQL: the rows that a list has. A request by ids also gets the others. */
  listed?: RawBuilder<unknown> | undefined;
  catchAll: RawBuilder<unknown>[];
  /** The index over all columns of `catchAll`. */
  near?: Near;
  commands: ReadonlyMap<string, SearchCommand>;
  defaultOrder: Order[];
  /** The total of a query for who sees everything, as SQL, where it need not be counted (totals.ts). */
  keptTotal?(query: ListQuery): RawBuilder<unknown> | undefined;
}

export interface Page {
  rows: Row[];
  ids: number[];
  totalSize: number;
}

const SKIP_MAX = 10_000_000;
const ORDER_MAX = 10;

/**
 * Runs a list: the page and its exact total side by side (a window count would visit every row). The ids of a page come
 * first, from an index where there is one, then their rows: deep pages do not drag whole rows along, and while Postgres plans anew for
 * each filter which index that is, the plan that reads the rows, of many tables, is kept.
 * `visible` is what the caller may see at all. Who is deleted between the two is left out.
 */
export async function listPage(
  database: Database,
  whole: ListSource,
  query: ListQuery,
  visible: RawBuilder<unknown>,
  { deadlineMs, showsNext }: Pick<Call, "deadlineMs" | "showsNext">,
): Promise<Page> {
  if (query.ids.length > 0) {
    const asked = [...new Set(query.ids)];
    return { rows: await rowsOf(database, whole, asked, visible, deadlineMs), ids: [], totalSize: 0 };
  }
  const source = withBeside(whole, query);
  if (query.skip > SKIP_MAX) throw badRequest(`start may be at most ${SKIP_MAX}.`);
  const predicates = listPredicates(source, query, visible);
  const filter = all(predicates);
  const terms = orderTerms(source, query.order);
  const found =
    query.after === ""
      ? idsByPlace(database, source, { query, filter, terms, deadlineMs })
      : idsAfter(query.after, { size: query.pageSize, terms }, ({ condition, keys, size }) =>
          run(
            database,
            sql`select ${source.id} as id, ${keys} from ${source.from} where ${all([filter, ...condition])}
              order by ${ordered(terms)} limit ${size}::bigint`,
            deadlineMs,
          ),
        ).then(({ ids, next }) => {
          if (next !== undefined) showsNext?.(next);
          return ids;
        });
  const [ids, rows, totalSize] = await Promise.all([
    query.idsOnly ? found : [],
    query.idsOnly ? [] : found.then((ids) => rowsOf(database, whole, ids, visible, deadlineMs)),
    query.skipTotal
      ? 0
      : total(database, keptTotal(source, query, predicates) ?? counted(source, filter), deadlineMs),
  ]);
  return { rows, ids, totalSize };
}

/** The list with the tables beside it that the query looks into. An order that begins in one of them is by the id there, too. */
function withBeside(source: ListSource, { order, where }: ListQuery): ListSource {
  const besideOf = (column: string) => source.columns.get(column)?.beside;
  const columns = [...order.map(({ column }) => column), ...where.flatMap(columnsIn)];
  const tables = [...new Set(columns.flatMap((column) => besideOf(column) ?? []))];
  if (tables.length === 0) return source;
  const [first] = order;
  return {
    ...source,
    from: sql.join([source.from, ...tables.map(({ join }) => join)], sql` `),
    id: (first && besideOf(first.column)?.id) ?? source.id,
  };
}

function columnsIn({ column, conditions }: Condition): string[] {
  return [column, ...conditions.flatMap(columnsIn)];
}

interface Placed {
  query: ListQuery;
  filter: RawBuilder<unknown>;
  terms: Term[];
  deadlineMs: number;
}

async function idsByPlace(
  database: Database,
  source: ListSource,
  { query, filter, terms, deadlineMs }: Placed,
): Promise<number[]> {
  const page = sql`select ${source.id} as id from ${source.from} where ${filter} order by ${ordered(terms)}
    limit ${query.pageSize}::bigint offset ${query.skip}::bigint`;
  return (await run(database, page, deadlineMs)).map(({ id }) => Number(id));
}

/** The rows of these ids, each of which is there once, in this order. */
async function rowsOf(
  database: Database,
  source: ListSource,
  ids: number[],
  visible: RawBuilder<unknown>,
  deadlineMs: number,
): Promise<Row[]> {
  if (ids.length === 0) return [];
  // In a sub-select the planner does not see the array: one plan will do for all.
  const wanted = sql`select ${source.select} from ${source.from}
    join unnest((select ${ids}::bigint[])) with ordinality as listed (listed_id, place) on listed_id = ${source.id}
    where ${visible} order by place`;
  return run(database, wanted, deadlineMs);
}

/** The total of a query that asks for all rows, or for those of one predicate, where it need not be counted. */
function keptTotal(
  source: ListSource,
  query: ListQuery,
  predicates: RawBuilder<unknown>[],
): RawBuilder<unknown> | undefined {
  const [only, ...others] = predicates.filter((predicate) => predicate !== EVERYTHING);
  const isSearched = query.search.trim() !== "";
  if (others.length === 0 && (only === undefined || isSearched)) {
    const kept = source.keptTotal?.(query);
    if (kept) return kept;
  }
  return only && others.length === 0 ? totalOfRows(only) : undefined;
}

function counted(source: ListSource, filter: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`select count(*) from ${source.from} where ${filter}`;
}

async function total(database: Database, query: RawBuilder<unknown>, deadlineMs: number): Promise<number> {
  const [row] = await run(database, sql`select (${query}) as total`, deadlineMs);
  return Number(row?.total ?? 0);
}

function listPredicates(
  source: ListSource,
  query: ListQuery,
  visible: RawBuilder<unknown>,
): RawBuilder<unknown>[] {
  const predicates = [visible, ...wherePredicate(query.where, source.columns)];
  if (source.listed) predicates.push(source.listed);
  if (query.publishedOnly && source.published) predicates.push(source.published);
  if (query.search.trim() !== "") predicates.push(searchPredicate(query.search, source));
  return predicates;
}

/** Ties are resolved by the id, so that pages neither repeat nor skip a row: it is the last term. */
function orderTerms(source: ListSource, asked: Order[]): Term[] {
  if (asked.length > ORDER_MAX) throw badRequest(`At most ${ORDER_MAX} columns to order by are supported.`);
  const orders = asked.length > 0 ? asked : source.defaultOrder;
  const terms: Term[] = [];
  for (const { column, descending } of orders) {
    const known = knownColumn(source.columns, column);
    // Nothing is left to resolve behind an id.
    if (known === source.columns.get("id")) return [...terms, { sql: source.id, descending }];
    terms.push({ sql: known.sql, descending });
  }
  return [...terms, { sql: source.id, descending: orders[0]?.descending ?? false }];
}

function run(database: Database, query: RawBuilder<unknown>, deadlineMs: number): Promise<Row[]> {
  const { text, values } = compileSql(query);
  return database.query(namedByText(text), values, deadlineMs);
}

const names = new Map<string, string>();
const NAMES_MAX = 300;

/** Queries of the same shape are prepared once; shapes beyond the limit run unprepared, so that memory stays bounded. */
function namedByText(text: string): Statement {
  const name = names.get(text);
  if (name) return { name, text };
  if (names.size >= NAMES_MAX) return { text };
  names.set(text, `list_${names.size + 1}`);
  return { text };
}
