import { type Database, prepared } from "@tidings/database/database";
import type { Log } from "@tidings/runtime/log";
import { jobsOf } from "./jobs.ts";
import type { JobOptions } from "./run-jobs.ts";

/** Rows of a table that are forgotten once they are old. */
export interface Retained {
  /** The kind of the one job, which the table's migration made. */
  kind: string;
  table: string;
  /** An indexed column with a time. */
  since: string;
  /** Rows stay for ever where it is 0. */
  days: number;
}

const SLICE = 5_000;
const DAY_SECONDS = 86_400;

/** Deletes old rows in slices, once a day for all replicas. */
export function retention(database: Database, log: Log, { kind, table, since, days }: Retained): JobOptions {
  const purge = prepared(
    `${table}_purge`,
    `delete from ${table} where ctid = any (array(
       select ctid from ${table} where ${since} < now() - make_interval(days => $1)
       order by ${since} limit ${SLICE} for update skip locked))
     returning 1 as gone`,
  );
  return {
    database,
    log,
    jobs: jobsOf(kind),
    async work(transaction, { payload }) {
      const gone = days > 0 ? await transaction.query(purge, [days]) : [];
      return { state: "again", payload, delaySeconds: gone.length < SLICE ? DAY_SECONDS : 0 };
    },
  };
}
