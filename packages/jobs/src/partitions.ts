import { type Database, prepared } from "@tidings/database/database";
import type { Log } from "@tidings/runtime/log";
import { jobsOf } from "./jobs.ts";
import type { JobOptions } from "./run-jobs.ts";

/** A table that is partitioned by month. */
export interface MonthPartitioned {
  table: string;
  /** The months before the present one that stay attached; all when absent. */
  monthsKept?: number;
  /** Older partitions are dropped instead of detached. */
  isDropped?: boolean;
}

const KIND = "month_partitions";
const DAY_SECONDS = 86_400;
/** How many months have a partition before they begin. */
const MONTHS_AHEAD = 3;

const partitionJobs = jobsOf(KIND);

/**
 * SQL of a migration: what keeps the partitions of all tables of a schema. A process may not make tables, so a function of the
 * schema's owner does: for the tables that are registered, and nothing else.
 *
 * `keep_month_partitions(of, months_kept, drops)` makes the partition `<table>_YYYY_MM` (UTC) of each month up to ${MONTHS_AHEAD} ahead. A
 * month of which the default partition `<table>_rest` has rows gets none: its rows stay there. Partitions older than `months_kept`
 * are dropped or detached: detached ones are tables of their own, for an operator to keep or to drop. Null keeps all attached.
 */
export const MONTH_PARTITIONS = [
  "create table month_partitioned (name text primary key, by_column text not null)",
  `create function keep_month_partitions(of text, months_kept integer, drops boolean) returns void language plpgsql security definer
   set search_path from current set timezone = 'UTC' set lock_timeout = '2s' as $$
   declare
     month date; partition text; has_rows boolean; time_column text;
   begin
     select by_column into strict time_column from month_partitioned where name = of;
     for month in select generate_series(date_trunc('month', now()),
         date_trunc('month', now()) + interval '${MONTHS_AHEAD} months', interval '1 month')::date loop
       partition := of || '_' || to_char(month, 'YYYY_MM');
       continue when to_regclass(partition) is not null;
       execute format('select exists (select from %I where %I >= %L and %I < %L)', of || '_rest',
         time_column, month, time_column, month + interval '1 month') into has_rows;
       continue when has_rows;
       -- Made apart and attached: readers and writers of the table are not blocked meanwhile.
       execute format('create table %I (like %I including defaults)', partition, of);
       execute format('alter table %I attach partition %I for values from (%L) to (%L)',
         of, partition, month, month + interval '1 month');
     end loop;
     for partition in select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
         where i.inhparent = to_regclass(of) and c.relname ~ ('^' || of || '_\\d{4}_\\d{2}$')
           and to_date(right(c.relname, 7), 'YYYY_MM')
             < date_trunc('month', now()) - make_interval(months => months_kept) loop
       execute format('alter table %I detach partition %I', of, partition);
       if drops then execute format('drop table %I', partition); end if;
     end loop;
   end $$`,
];

/** SQL of a migration: lets a table that is partitioned by range of a time column be kept, and makes its first partitions. */
export function monthPartitioned(table: string, column: string): string[] {
  return [
    `insert into month_partitioned values ('${table}', '${column}')`,
    `select keep_month_partitions('${table}', null, false)`,
    `insert into jobs (kind, key) values ('${KIND}', '${table}')`,
  ];
}

const keepStatement = prepared(
  "month_partitions_keep",
  "select keep_month_partitions($1, $2::integer, $3::boolean)",
);

/** Keeps the partitions of these tables, once a day for all replicas. */
export function partitionUpkeep(database: Database, log: Log, tables: MonthPartitioned[]): JobOptions {
  const byName = new Map(tables.map((table) => [table.table, table]));
  return {
    database,
    log,
    jobs: partitionJobs,
    async work(transaction, { key, payload }) {
      const { monthsKept, isDropped = false } = byName.get(key) ?? {};
      await transaction.query(keepStatement, [key, monthsKept ?? null, isDropped]);
      return { state: "again", payload, delaySeconds: DAY_SECONDS };
    },
  };
}
