import { type MonthPartitioned, partitionUpkeep } from "@tidings/jobs/partitions";
import { retention } from "@tidings/jobs/retention";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "./config.ts";
import { SUBMISSION_TOTAL } from "./form/submission-tables.ts";

/** Tables of facts of visits. */
const OF_VISITS = ["page_hits", "asset_downloads", "focus_stats", "video_hits", "email_send_devices"];
const DAYS_OF_A_MONTH = 31;

/** Tables by month. Months of visits that began more than `hitsDays` ago are detached; none where that is 0. */
function partitionedTables(hitsDays: number): MonthPartitioned[] {
  const kept = hitsDays > 0 ? { monthsKept: Math.ceil(hitsDays / DAYS_OF_A_MONTH) } : {};
  return [{ table: SUBMISSION_TOTAL.table }, ...OF_VISITS.map((table) => ({ table, ...kept }))];
}

/** Takes away what is kept for some days alone: facts of visitors, what slots showed, and the values of mails. */
export function retentions({ config, database, log }: Foundation<ContentConfig>): JobOptions[] {
  return [
    partitionUpkeep(database, log, partitionedTables(config.HITS_DAYS)),
    retention(database, log, {
      ...{ kind: "shown_retention", table: "dynamic_content_stats", since: "last_sent" },
      days: config.HITS_DAYS,
    }),
    retention(database, log, {
      ...{ kind: "mail_values", table: "mail_values", since: "date_added" },
      // Values of before it was 0 go with the next day.
      days: config.MAIL_TOKENS_DAYS || 1,
    }),
  ];
}
