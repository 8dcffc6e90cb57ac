import type { Database } from "@tidings/database/database";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Log } from "@tidings/runtime/log";
import { removalJobs } from "./files.ts";
import type { FileStore } from "./store.ts";

const AT_ONCE = 4;

/** Deletes bytes that nobody has any more. What is gone already is as good. */
export function removal(database: Database, store: FileStore, log: Log): JobOptions {
  return {
    database,
    log,
    jobs: removalJobs,
    atOnce: AT_ONCE,
    async prepare(job) {
      await store.delete(job.key);
      return job;
    },
    work: async () => ({ state: "done" }),
  };
}
