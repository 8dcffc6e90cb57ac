import { prepared } from "@tidings/database/database";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { compileDefinitions, midnight } from "../definition/definitions.ts";
import type { BuildServices } from "./build.ts";
import { requestBuilds } from "./build-request.ts";

const dayJobs = jobsOf("segment_day");
const DAY_SECONDS = 86_400;

const oldStatement = prepared(
  "segment_builds_of_yesterday",
  `select segment_id from segment_builds
   where segment_id = any($1::integer[]) and requested_at is null and built_at < $2::timestamptz`,
);

/** Has segments that read the date built when a day begins (UTC), whichever replica gets to it. A migration made the job. */
export function dayOptions({ database, log, catalogues, readDefinitions }: BuildServices): JobOptions {
  return {
    database,
    log,
    jobs: dayJobs,
    async work(transaction) {
      const definitions = await readDefinitions(transaction.query);
      const daily = compileDefinitions(definitions, await catalogues.atLeast(0))
        .filter(({ isPublished, compiled }) => isPublished && compiled?.isDaily)
        .map(({ id }) => id);
      const today = midnight();
      const old = await transaction.query(oldStatement, [daily, new Date(today).toISOString()]);
      await requestBuilds(
        transaction,
        old.map(({ segment_id }) => Number(segment_id)),
      );
      return { state: "again", payload: {}, delaySeconds: DAY_SECONDS - (Date.now() - today) / 1_000 };
    },
  };
}
