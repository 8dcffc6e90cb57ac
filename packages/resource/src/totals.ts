import { backgroundDeadline, type Database, prepared, WITHOUT_FLUSH } from "@tidings/database/database";
import { lockKey } from "@tidings/database/lock";
import type { Statement } from "@tidings/database/statement";
import { afterCommits } from "@tidings/messaging/after-commits";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Log } from "@tidings/runtime/log";
import { type RawBuilder, sql } from "kysely";

/** How many rows a table has, or how many there are of each value of a column, known without counting them. */
export interface Total {
  table: string;
  /** Its name, where a table has several totals; the table's when absent. */
  of?: string;
  /** SQL: an integer of a row; the total is that of the whole table when absent. */
  by?: string;
  /** SQL: the rows that are counted; all rows when absent. */
  where?: string;
}

/** SQL of a schema that keeps totals. Each change of a total is a row until the rows are folded, so that writers never wait for each other. */
export const TOTALS_TABLE = [
  "create table totals (of text not null, key integer not null, change integer not null) with (autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_scale_factor = 0)",
  "create index totals_of on totals (of, key) include (change)",
];

/** Statements of a migration that make a total one that is kept, in the transaction of each write: once for a statement, not for a row. */
export function keepTotal({ table, by = "0", where = "true" }: Total): string[] {
  const name = `keep_total_of_${table}`;
  const changes = (rows: string, sign: string) =>
    `select ${by} as key, ${sign}1 as n from ${rows} where ${where}`;
  const write = (changed: string) =>
    `insert into totals (of, key, change)
     select '${table}', key, sum(n) from (${changed}) as changed group by key having sum(n) <> 0;`;
  const [added, removed] = [changes("added", "+"), changes("removed", "-")];
  const triggers = [
    ["insert", "new table as added"],
    ["delete", "old table as removed"],
    // A row that stays counts as before where all rows do.
    ...(where === "true" && by === "0" ? [] : [["update", "old table as removed new table as added"]]),
  ];
  return [
    `create function ${name}() returns trigger language plpgsql set search_path from current as $$
     begin
       if tg_op = 'INSERT' then ${write(added)}
       elsif tg_op = 'DELETE' then ${write(removed)}
       else ${write(`${added} union all ${removed}`)}
       end if;
       return null;
     end $$`,
    ...triggers.map(
      ([event, tables]) =>
        `create trigger ${name}_at_${event} after ${event} on ${table} referencing ${tables}
         for each statement execute function ${name}()`,
    ),
    `insert into totals (of, key, change) select '${table}', ${by}, count(*) from ${table} where ${where} group by 2`,
  ];
}

/** The total of this name as SQL, exact as of the statement that asks for it. `key` is a value of the column that it is kept by. */
export function totalOf(of: string, key: RawBuilder<unknown> = sql`0`): RawBuilder<unknown> {
  return sql`select coalesce(sum(t.change), 0) from totals t where t.of = ${sql.lit(of)} and t.key = ${key}`;
}

/** Makes one row of the many of a total. Only one process does so at a time; readers see those or that one. */
const fold = prepared(
  "totals_fold",
  `with folded as (
      delete from totals t using (select of, key from totals group by of, key having count(*) > 1) as many
      where t.of = many.of and t.key = many.key and ${WITHOUT_FLUSH}
        and (select pg_try_advisory_xact_lock(${lockKey("totals")}))
      returning t.of, t.key, t.change)
    insert into totals (of, key, change)
    select of, key, sum(change) from folded group by of, key having sum(change) <> 0`,
);

/** Counts, and adds what a total lacks: one statement sees the rows and the total as of one moment, beside concurrent writes. */
function recount({ table, of = table, by = "0", where = "true" }: Total): Statement {
  return {
    text: `with counted as (select ${by} as key, count(*) as n from ${table} where ${where} group by 1),
        kept as (select key, sum(change) as n from totals where of = '${of}' group by key)
      insert into totals (of, key, change)
      select '${of}', key, coalesce(counted.n, 0) - coalesce(kept.n, 0) from counted full join kept using (key)
      where coalesce(counted.n, 0) <> coalesce(kept.n, 0) returning key, change`,
  };
}

/** It reads whole tables, and nobody waits for it. */
const REPAIR_LIMIT_MS = 10 * 60_000;

/** Corrects totals that are not what counting says; answers how many were wrong. */
export async function repairTotals(database: Database, totals: Total[], log: Log): Promise<number> {
  let wrong = 0;
  for (const total of totals) {
    const rows = await database.query(recount(total), [], Date.now() + REPAIR_LIMIT_MS);
    if (rows.length > 0)
      log.error({ total: total.of ?? total.table, wrong: rows.slice(0, 10) }, "totals were wrong");
    wrong += rows.length;
  }
  return wrong;
}

const FOLD_AFTER_MS = 2_000;
const HOUR_MS = 3_600_000;
const REPAIR_EVERY_MS = 24 * HOUR_MS;

/**
 * Folds the totals two seconds after something was written, and counts an hour after the start and then once a day whether
 * they are right: also in a process that is replaced every day. Replicas do not count at the same time.
 */
export function startTotals(database: Database, outbox: Outbox, log: Log, totals: Total[]): { stop(): void } {
  const folding = afterCommits({ outbox, log, name: "totals", delayMs: FOLD_AFTER_MS }, () =>
    foldTotals(database),
  );
  const repair = () =>
    repairTotals(database, totals, log).catch((error) => log.warn({ err: error }, "totals were not counted"));
  let timer = setTimeout(repairDaily, HOUR_MS * (0.5 + Math.random())).unref();
  function repairDaily(): void {
    timer = setTimeout(repairDaily, REPAIR_EVERY_MS).unref();
    void repair();
  }
  return {
    stop() {
      folding.stop();
      clearTimeout(timer);
    },
  };
}

export async function foldTotals(database: Database): Promise<void> {
  await database.query(fold, [], backgroundDeadline());
}
