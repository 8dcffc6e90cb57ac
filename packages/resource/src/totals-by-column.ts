import { type RawBuilder, sql } from "kysely";
import { type Total, totalOf } from "./totals.ts";

/** A total of the rows of a table for each value of a column. */
export interface TotalByColumn {
  table: string;
  column: string;
  /** Null is a value, too, and counts as 0: ids begin at 1. */
  type: "id" | "boolean";
}

/** The same as a total. */
export function byColumn(total: TotalByColumn): Total {
  return { table: total.table, of: nameOf(total), by: keyOf(total, total.table) };
}

function nameOf({ table, column }: TotalByColumn): string {
  return `${table}.${column}`;
}

/** SQL: the key of the total that a row counts in. */
function keyOf({ column, type }: TotalByColumn, row: string): string {
  return type === "id" ? `coalesce(${row}.${column}, 0)` : `${row}.${column}::integer`;
}

/**
 * Statements of a migration that keep totals of a table by columns beside that of the whole table, which is kept already (`keepTotal`). Rows that
 * come and go are counted once for a statement. An update costs nothing unless it sets one of these columns. A trigger on columns
 * sees no transition tables (PostgreSQL, CREATE TRIGGER): each row that it moves is counted by itself.
 */
export function keepTotalsByColumn(table: string, totals: TotalByColumn[]): string[] {
  const keys = [`('${table}', 0)`, ...totals.map((total) => `('${nameOf(total)}', ${keyOf(total, "r")})`)];
  const write = (rows: string, sign: string) =>
    `insert into totals (of, key, change)
     select kept.of, kept.key, ${sign}count(*)
     from ${rows} as r, lateral (values ${keys.join(", ")}) as kept (of, key) group by 1, 2;`;
  return [
    `create or replace function keep_total_of_${table}() returns trigger language plpgsql set search_path from current as $$
     begin
       if tg_op = 'INSERT' then ${write("added", "")}
       else ${write("removed", "-")}
       end if;
       return null;
     end $$`,
    ...totals.flatMap(keepMoves),
    ...totals
      .map(byColumn)
      .map(
        ({ of, by }) =>
          `insert into totals (of, key, change) select '${of}', ${by}, count(*) from ${table} group by 2`,
      ),
  ];
}

/** A row whose column is changed leaves one total for another. */
function keepMoves(total: TotalByColumn): string[] {
  const { table, column } = total;
  const name = `move_total_of_${table}_by_${column}`;
  const of = `'${nameOf(total)}'`;
  return [
    `create function ${name}() returns trigger language plpgsql set search_path from current as $$
     begin
       insert into totals (of, key, change)
       values (${of}, ${keyOf(total, "old")}, -1), (${of}, ${keyOf(total, "new")}, 1);
       return null;
     end $$`,
    `create trigger ${name} after update of ${column} on ${table}
     for each row when (old.${column} is distinct from new.${column}) execute function ${name}()`,
  ];
}

/**
 * The total of the rows with a value in a column as SQL; undefined for a value that is none of the column's. Null counts the rows
 * without an id.
 */
export function totalByColumn(
  total: TotalByColumn,
  value: string | number | boolean | null | undefined,
): RawBuilder<unknown> | undefined {
  const key = total.type === "id" ? idKey(value) : booleanKey(value);
  return key === undefined ? undefined : totalOf(nameOf(total), sql`${key}::integer`);
}

function idKey(value: unknown): number | undefined {
  if (value === null) return 0;
  const id = typeof value === "string" ? Number(value) : value;
  return typeof id === "number" && Number.isInteger(id) && id > 0 && id < 2 ** 31 ? id : undefined;
}

function booleanKey(value: unknown): number | undefined {
  return typeof value === "boolean" ? Number(value) : undefined;
}
