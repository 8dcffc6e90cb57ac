import { SpanKind } from "@opentelemetry/api";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { addSource } from "@tidings/runtime/scrape";
import { inSpan } from "@tidings/runtime/telemetry";
import { atEachTick } from "@tidings/runtime/tick";
import { Counter, Histogram } from "prom-client";
import { jobsSource } from "./backlog.ts";
import type { Job, Jobs } from "./jobs.ts";
import type { Outcome } from "./outcome.ts";
import { startWork, type Worker } from "./work.ts";

export interface JobOptions {
  database: Database;
  log: Log;
  jobs: Jobs;
  /**
   * Waits for others (a server, a store of files) before the transaction begins. Returns the job, with what was found in its
   * payload. May run again.
   */
  prepare?(job: Job): Promise<Job>;
  /**
   * Has an effect that cannot be repeated, such as a mail or a call to another system, in place of `prepare`. It runs after "started" was
   * committed. It throws when nothing took place; EffectUnknown when that is not known. A job whose worker dies meanwhile becomes `unknown`.
   */
  effect?(job: Job): Promise<Job>;
  /** Does a job, or a part of it, in a transaction that also finishes it. May run again, so it has no effects of its own. */
  work(transaction: Transaction, job: Job): Promise<Outcome>;
  /** Decides the outcome of a failed attempt. When absent, the job is tried ten times and then dead-lettered. */
  onFailure?(job: Job, error: unknown): Promise<Outcome | undefined>;
  /** `work` reads tables that grow from nothing in less time than Postgres takes to learn of it: it goes by their indexes. */
  byIndex?: boolean;
  /** How many jobs this process does at once; 1 when absent. */
  atOnce?: number;
  /** How many of them may be of one group; all when absent. */
  atOnceOfGroup?: number;
}

const ATTEMPTS_MAX = 10;
const BACKOFF_FIRST_SECONDS = 1;
const BACKOFF_MAX_SECONDS = 600;
/** An outage ends for all jobs at once, however often they were tried. */
const OUTAGE_BACKOFF_MAX_SECONDS = 15;
const REASON_LENGTH_MAX = 1_000;

const setAside = new Counter({
  name: "tidings_jobs_set_aside_total",
  help: "Jobs that were given up and are kept, by what was wrong",
  labelNames: ["kind", "reason"],
});
const duration = new Histogram({
  name: "tidings_job_duration_seconds",
  help: "Time that an attempt of a job took, by what became of the job",
  labelNames: ["kind", "outcome"],
  buckets: [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
});

/** How often a process polls for due jobs that its other replicas made. */
const LOOK_MS = 5_000;
/** Each kind sleeps until its next job is due, or until a commit wakes it. */
const SLEEP_MAX_MS = 3_600_000;

const lookStatement = prepared(
  "jobs_look",
  `select k.kind from unnest($1::text[]) as k (kind)
   where exists (select from jobs j where j.kind = k.kind and j.state = 'waiting' and j.due_at <= now())
     or exists (select from jobs j where j.kind = k.kind and j.state = 'started' and j.due_at <= now())`,
);

/**
 * Does the jobs of all kinds of a process until stopped. One that fails is tried later and set aside in the end; the others go on.
 * One look finds what is due of all of them.
 */
export function runJobs(database: Database, log: Log, kinds: JobOptions[]): { stop(): Promise<void> } {
  const workers = new Map(kinds.map((options) => [options.jobs.kind, startKind(options)]));
  const unwatch = addSource(jobsSource(database, [...workers.keys()]));
  const look = async () => {
    const due = await database.query(lookStatement, [[...workers.keys()]], backgroundDeadline());
    for (const { kind } of due) workers.get(kind ?? "")?.nudge();
  };
  const looking = atEachTick(LOOK_MS, () =>
    look().catch((error) => log.warn({ err: error }, "could not look for jobs, trying again")),
  );
  return {
    async stop() {
      unwatch();
      await Promise.all([looking.stop(), ...[...workers.values()].map((worker) => worker.stop())]);
    },
  };
}

function startKind(options: JobOptions): Worker {
  const { database, log, jobs, atOnce = 1, atOnceOfGroup = atOnce } = options;
  const worker = startWork<Job, Outcome>({
    database,
    log,
    name: jobs.kind,
    queue: jobs.queue,
    ...(options.effect && { starts: jobs.starts }),
    attempt: async (job, begin) => ((await begin()) === "begun" ? attemptJob(options, job) : undefined),
    isFailure: ({ state }) => state !== "done" && state !== "again",
    // Each attempt has finished its job already.
    record: async (results) => new Set(results.map(({ job }) => job.id)),
    share: atOnceOfGroup,
    atOnce: atOnceOfGroup,
    inFlightMax: atOnce,
    pollMs: SLEEP_MAX_MS,
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

/** One attempt: measured, and a part of the trace of what made the job necessary. */
async function attemptJob(options: JobOptions, job: Job): Promise<Outcome> {
  const { kind } = options.jobs;
  const { traceparent } = job;
  const startedAt = performance.now();
  const outcome = await inSpan(`job ${kind}`, { kind: SpanKind.CONSUMER, traceparent }, () =>
    finishAttempt(options, job),
  );
  duration.observe({ kind, outcome: outcome.state }, (performance.now() - startedAt) / 1_000);
  return outcome;
}

/** Finished with its effect. What fails is finished by itself; while the database is away nothing is. */
async function finishAttempt(options: JobOptions, job: Job): Promise<Outcome> {
  const { database, log, jobs, work, byIndex } = options;
  try {
    const prepared = (await (options.effect ?? options.prepare)?.(job)) ?? job;
    return await database.transaction(
      backgroundDeadline(),
      async (transaction) => {
        const outcome = await work(transaction, prepared);
        if (!(await jobs.finish(transaction, job, outcome))) throw new LeaseLost();
        return outcome;
      },
      { byIndex },
    );
  } catch (error) {
    if (error instanceof LeaseLost) return { state: "done" };
    const outcome = await failureOf(options, job, error);
    log.warn({ err: error, job: job.key, kind: jobs.kind, outcome: outcome.state }, "job failed");
    await database.transaction(backgroundDeadline(), (transaction) => jobs.finish(transaction, job, outcome));
    if (outcome.state === "set_aside") setAside.inc({ kind: jobs.kind, reason: toFault(error).reason });
    return outcome;
  }
}

async function failureOf({ onFailure }: JobOptions, job: Job, error: unknown): Promise<Outcome> {
  const own = await onFailure?.(job, error);
  if (own) return own;
  const reason = (error instanceof Error ? error.message : String(error)).slice(0, REASON_LENGTH_MAX);
  if (error instanceof EffectUnknown) return { state: "unknown", reason };
  if (isLastAttempt(job, error)) return { state: "set_aside", reason };
  const longest = isOutage(error) ? OUTAGE_BACKOFF_MAX_SECONDS : BACKOFF_MAX_SECONDS;
  const backoff = Math.min(longest, BACKOFF_FIRST_SECONDS * 2 ** job.attempts);
  return { state: "failed", delaySeconds: backoff * (0.5 + Math.random() / 2) };
}

/** Is a job given up that fails with this error now? An outage ends none. */
export function isLastAttempt(job: Job, error: unknown): boolean {
  return !isOutage(error) && job.attempts + 1 >= ATTEMPTS_MAX;
}

/** An effect that cannot be repeated was begun, and nobody knows whether it took place: a line that broke after the last byte. */
export class EffectUnknown extends Error {
  override name = "EffectUnknown";
}

/** Somebody else has the job, or it was asked for anew: what was done for it is not to stay. */
class LeaseLost extends Error {
  override name = "LeaseLost";
}
