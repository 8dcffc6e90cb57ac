import { type Database, prepared } from "@tidings/database/database";
import type { Log } from "@tidings/runtime/log";
import { jobsOf } from "./jobs.ts";
import { RECORD_DAYS } from "./records.ts";
import type { JobOptions } from "./run-jobs.ts";

const SLICE = 5_000;
const DAY_SECONDS = 86_400;

/** The table's migration made the one job of this kind. */
const upkeepJobs = jobsOf("job_records");

const forgetStatement = prepared(
  "job_records_forget",
  `delete from job_records where id in (
     select id from job_records where date_ended < now() - interval '${RECORD_DAYS} days' order by date_ended limit ${SLICE})
   returning 1 as gone`,
);

/** Forgets the records of jobs that ended ${RECORD_DAYS} days ago, once a day for all replicas. */
export function recordUpkeep(database: Database, log: Log): JobOptions {
  return {
    database,
    log,
    jobs: upkeepJobs,
    async work(transaction) {
      const gone = await transaction.query(forgetStatement);
      return { state: "again", payload: {}, delaySeconds: gone.length < SLICE ? DAY_SECONDS : 0 };
    },
  };
}
