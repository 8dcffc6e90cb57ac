import type { Row } from "@tidings/database/statement";
import { badRequest } from "@tidings/rpc/fault";
import { type RawBuilder, sql } from "kysely";
import { all } from "./condition.ts";

/** A term of an order; the last one is the id, which is never empty. */
export interface Term {
  sql: RawBuilder<unknown>;
  descending: boolean;
}

/** Empty values come last when descending and first when ascending: one index serves both. */
export function ordered(terms: Term[]): RawBuilder<unknown> {
  const last = terms.length - 1;
  return sql.join(
    terms.map(({ sql: term, descending }, index) => {
      if (index === last) return descending ? sql`${term} desc` : term;
      return descending ? sql`${term} desc nulls last` : sql`${term} asc nulls first`;
    }),
  );
}

/** A part of the rows behind a position, in their order: its conditions, and the number of rows that are wanted of it. */
interface Section {
  condition: RawBuilder<unknown>[];
  keys: RawBuilder<unknown>;
  size: number;
}

/**
 * The ids of the page behind a position, and the position behind that page where more rows follow (keyset pagination: the "seek method",
 * https://use-the-index-luke.com/no-offset). A row that does not change is on one page, whatever becomes of the others.
 */
export async function idsAfter(
  after: string,
  { size, terms }: { size: number; terms: Term[] },
  read: (section: Section) => Promise<Row[]>,
): Promise<{ ids: number[]; next: string | undefined }> {
  const values = parsePosition(after, terms.length);
  const keys = sql.join(
    terms.map(({ sql: term }, index) => sql`${term}::text as ${sql.ref(`key_${index}`)}`),
  );
  let rows: Row[] = [];
  for (const condition of sectionsAfter(terms, values)) {
    // A row more than the page has shows whether a next page exists.
    const missing = size + 1 - rows.length;
    if (missing > 0) rows = rows.concat(await read({ condition, keys, size: missing }));
  }
  const page = rows.slice(0, size);
  const last = rows.length > size ? page.at(-1) : undefined;
  return {
    ids: page.map(({ id }) => Number(id)),
    next: last && JSON.stringify(terms.map((_term, index) => last[`key_${index}`] ?? null)),
  };
}

type Values = (string | null)[];

function parsePosition(text: string, length: number): Values {
  const values: unknown = JSON.parse(text);
  const isPosition =
    Array.isArray(values) &&
    (values.length === 0 || values.length === length) &&
    values.every((value) => value === null || typeof value === "string");
  if (!isPosition) throw badRequest("The cursor belongs to another order.");
  return values as Values;
}

/**
 * The conditions of the rows behind a position, in sections that follow each other: rows without a value in the first term, and those
 * with one, are different ranges of its index.
 */
function sectionsAfter(terms: Term[], values: Values): RawBuilder<unknown>[][] {
  const [first, ...others] = terms;
  const [second] = others;
  const [value] = values;
  if (!first || value === undefined) return [[]];
  if (others.length === 0) return [[behind(terms, values)]];
  const isEmpty = sql`${first.sql} is null`;
  const isFilled = sql`${first.sql} is not null`;
  if (value === null) {
    const rest = all([isEmpty, behind(others, values.slice(1))]);
    return first.descending ? [[rest]] : [[rest], [isFilled]];
  }
  const isPair = others.length === 1 && second?.descending === first.descending;
  const filled = isPair ? behindPair(terms, values) : behindMany(terms, values);
  return first.descending ? [[filled], [isEmpty]] : [[filled]];
}

/** Two terms of one direction: a comparison of rows, which an index over both answers. */
function behindPair(terms: Term[], values: Values): RawBuilder<unknown> {
  const pair = sql`(${sql.join(terms.map((term) => term.sql))})`;
  const position = sql`(${sql.join(values)})`;
  return terms[0]?.descending ? sql`${pair} < ${position}` : sql`${pair} > ${position}`;
}

/** The range of the first term, which an index may answer, and the comparison of all of them. */
function behindMany(terms: Term[], values: Values): RawBuilder<unknown> {
  const [first] = terms;
  const [value] = values;
  const range = first?.descending ? sql`${first.sql} <= ${value}` : sql`${first?.sql} >= ${value}`;
  return all([range, behind(terms, values)]);
}

/** Behind the value of the first term; or the same there, and behind those of the others. */
function behind(terms: Term[], values: Values): RawBuilder<unknown> {
  const [first, ...others] = terms;
  const [value = null, ...rest] = values;
  if (!first) return sql`false`;
  // The last term is the id, which is never empty: a range of it alone is one of the index.
  if (others.length === 0)
    return first.descending ? sql`${first.sql} < ${value}` : sql`${first.sql} > ${value}`;
  const beyond = beyondValue(first, value);
  const same = value === null ? sql`${first.sql} is null` : sql`${first.sql} = ${value}`;
  return sql`(${beyond} or (${same} and ${behind(others, rest)}))`;
}

function beyondValue({ sql: term, descending }: Term, value: string | null): RawBuilder<unknown> {
  if (value === null) return descending ? sql`false` : sql`${term} is not null`;
  return descending ? sql`(${term} < ${value} or ${term} is null)` : sql`${term} > ${value}`;
}
