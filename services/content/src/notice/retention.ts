import { type Database, prepared } from "@tidings/database/database";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Log } from "@tidings/runtime/log";

/** A notice has the mail itself, with values of people in it. */
const KEPT_DAYS = 30;
const SLICE = 1_000;
const DAY_SECONDS = 86_400;

const jobs = jobsOf("notice_retention");
const oldStatement = prepared(
  "notices_purge",
  `delete from notices where id in (
     select id from notices where date_queued < now() - make_interval(days => ${KEPT_DAYS})
     order by date_queued limit ${SLICE} for update skip locked)
   returning id`,
);

/** Once a day, deletes notices that are older than thirty days. */
export function noticeRetention(database: Database, log: Log): JobOptions {
  return {
    database,
    log,
    jobs,
    async work(transaction, { payload }) {
      const purged = await transaction.query(oldStatement, []);
      return { state: "again", payload, delaySeconds: purged.length < SLICE ? DAY_SECONDS : 0 };
    },
  };
}
