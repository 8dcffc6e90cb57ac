import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { backgroundDeadline, type Database, type Transaction } from "@tidings/store/database";
import { Counter } from "prom-client";
import type { Job, Jobs, Outcome } from "./jobs.ts";
import { startWork, type Worker } from "./work.ts";

export interface JobOptions {
  database: Database;
  log: Log;
  jobs: Jobs;
  /** Does a job, or a part of it, in a transaction that also settles it. May run again, so it has no effects of its own. */
  work(transaction: Transaction, job: Job): Promise<Outcome>;
  /** What becomes of a job whose work failed; tried again and given up after ten attempts when absent. */
  onFailure?(job: Job, error: unknown): Promise<Outcome | undefined>;
  /** How many jobs this process does at once; 1 when absent. */
  atOnce?: number;
}

const ATTEMPTS_MAX = 10;
const BACKOFF_FIRST_SECONDS = 1;
const BACKOFF_MAX_SECONDS = 600;
const REASON_LENGTH_MAX = 1_000;

const setAside = new Counter({
  name: "tidings_jobs_set_aside_total",
  help: "Jobs that were given up and are kept with their reason",
  labelNames: ["kind"],
});

/** Does the jobs of a kind until stopped. One that fails is tried later and set aside in the end; the others go on. */
export function runJobs(options: JobOptions): Worker {
  const { database, log, jobs, atOnce = 1 } = options;
  const worker = startWork<Job, Outcome>({
    database,
    log,
    name: jobs.kind,
    queue: jobs.queue,
    attempt: (job) => attemptJob(options, job),
    isFailure: ({ state }) => state === "failed" || state === "set_aside",
    // Each attempt has settled its job already.
    record: async (results) => new Set(results.map(({ job }) => job.id)),
    share: atOnce,
    atOnce,
    inHandMax: atOnce,
  });
  jobs.onAdded(worker.nudge);
  return worker;
}

/** Does the job that is due first, if there is one, and answers what became of it. */
export async function stepJobs(options: JobOptions): Promise<Outcome | undefined> {
  const claiming = { shares: new Map<number, number>(), size: 1, after: 0, limit: 1 };
  const [job] = await options.jobs.queue.claim(options.database, claiming);
  return job && attemptJob(options, job);
}

/** One attempt, settled with its effect. What fails is settled by itself; while the database is away nothing is. */
async function attemptJob(options: JobOptions, job: Job): Promise<Outcome> {
  const { database, log, jobs, work } = options;
  try {
    return await database.transaction(backgroundDeadline(), async (transaction) => {
      const outcome = await work(transaction, job);
      if (!(await jobs.settle(transaction, job, outcome))) throw new LeaseLost();
      return outcome;
    });
  } catch (error) {
    if (error instanceof LeaseLost) return { state: "done" };
    const outcome = await failureOf(options, job, error);
    log.warn({ err: error, job: job.key, kind: jobs.kind, outcome: outcome.state }, "job failed");
    const queryable = {
      query: (statement: Parameters<Database["query"]>[0], values: unknown[] = []) =>
        database.query(statement, values, backgroundDeadline()),
    };
    await jobs.settle(queryable, job, outcome);
    if (outcome.state === "set_aside") setAside.inc({ kind: jobs.kind });
    return outcome;
  }
}

async function failureOf({ onFailure }: JobOptions, job: Job, error: unknown): Promise<Outcome> {
  const own = await onFailure?.(job, error);
  if (own) return own;
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, REASON_LENGTH_MAX);
  if (!isOutage(error) && job.attempts + 1 >= ATTEMPTS_MAX) return { state: "set_aside", reason };
  const backoff = Math.min(BACKOFF_MAX_SECONDS, BACKOFF_FIRST_SECONDS * 2 ** job.attempts);
  return { state: "failed", delaySeconds: backoff * (0.5 + Math.random() / 2) };
}

/** Somebody else has the job, or it was asked for anew: what was done for it is not to stay. */
class LeaseLost extends Error {
  override name = "LeaseLost";
}
