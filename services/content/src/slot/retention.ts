import { type Database, prepared } from "@tidings/database/database";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Log } from "@tidings/runtime/log";

const SLICE = 5_000;
const DAY_SECONDS = 86_400;

const jobs = jobsOf("shown_retention");
const oldStatement = prepared(
  "dynamic_content_stats_purge",
  `delete from dynamic_content_stats where id in (
     select id from dynamic_content_stats where last_sent < now() - make_interval(days => $1)
     order by last_sent limit ${SLICE} for update skip locked)
   returning id`,
);

/** Once a day, forgets contents that were last shown to a contact more than `days` ago; none where that is 0. Sums of contents stay. */
export function shownRetention(database: Database, log: Log, days: number): JobOptions {
  return {
    database,
    log,
    jobs,
    async work(transaction, { payload }) {
      const purged = days > 0 ? await transaction.query(oldStatement, [days]) : [];
      return { state: "again", payload, delaySeconds: purged.length < SLICE ? DAY_SECONDS : 0 };
    },
  };
}
