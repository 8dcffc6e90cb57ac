import type { Database } from "@tidings/database/database";
import { createWakeUp, type WakeUp } from "@tidings/database/wake-up";
import type { Log } from "@tidings/runtime/log";
import { untilTick } from "@tidings/runtime/tick";
import { type Begin, type Begun, startsTogether } from "./begin.ts";
import { createLanes, type Lanes } from "./lanes.ts";
import type { StartLimit } from "./limited-starts.ts";
import { type Claimed, LEASE_MS, type Queue } from "./queue.ts";
import type { Starts } from "./starts.ts";
import { throughOutages } from "./through-outages.ts";

export interface WorkOptions<J extends Claimed, O> {
  database: Database;
  log: Log;
  /** The name of the queue in log lines. */
  name: string;
  queue: Queue<J>;
  /** For attempts with an effect that cannot be repeated: see `Begin`. */
  starts?: Starts<J>;
  /**
   * Attempts a job once. A failure is an outcome; undefined, where `begin` said that it is lost, is none. When it throws, the program has an error and the job
   * returns with its lease.
   */
  attempt(job: J, begin: Begin): Promise<O | undefined>;
  /** After a failed attempt, the group is tried with one job at a time. */
  isFailure(outcome: O): boolean;
  /** Says whether a job with this outcome is attempted again. Each job may be when absent, and jobs are claimed after each record. */
  isAgain?(outcome: O): boolean;
  /** Records results. Returns the ids of the jobs that this process still held. */
  record(results: Result<J, O>[]): Promise<Set<string>>;
  /** Called in each pass after results are recorded; when it throws, the pass is repeated. */
  afterRecord?(): Promise<void>;
  /** Jobs of one group that a process holds, and how many of them it attempts at a time. */
  share: number;
  atOnce: number;
  /** Jobs that a process holds in all. */
  inFlightMax: number;
  /** The longest sleep before the process asks the database for jobs that other replicas made. */
  pollMs: number;
  /** How long `stop` waits for attempts in flight; 10 seconds when absent. */
  stopLimitMs?: number | undefined;
}

export interface Result<J extends Claimed, O> {
  job: J;
  outcome: O;
}

export interface Worker {
  /** Called after the commit of a transaction that made jobs. */
  nudge(): void;
  /** Forgets the jobs of a group that is no longer served. */
  drop(group: number): void;
  /** Waits a while for attempts in flight, of which none begins an effect any more, and returns all other jobs to the queue. */
  stop(): Promise<void>;
}

interface Work<J extends Claimed, O> {
  options: WorkOptions<J, O>;
  lanes: Lanes<J>;
  wakeUp: WakeUp;
  results: Result<J, O>[];
  /** Commits that a job is started, where that matters. Concurrent starts share a statement. */
  begin(job: J, limit?: StartLimit): Promise<Begun>;
  isStopping: boolean;
  /** There may be new jobs. */
  isNudged: boolean;
  /** The process holds as many jobs as it may. */
  isFull: boolean;
  /** By the monotonic clock, when jobs were claimed last, and when the next one is due; undefined where nobody has asked since. */
  claimedAt: number;
  dueAt: number | undefined;
  /** The group that was served last. */
  after: number;
}

const CLAIM_MAX = 500;
/** Results and new jobs within this time share one statement. */
const GATHER_MS = 5;
const RENEW_MS = LEASE_MS / 3;
/** The part of all jobs that a process may hold at which it claims again after it was full. */
const FULL = 0.9;
/** The shortest sleep while due jobs are held by other replicas, and the time after which a busy process claims for groups that it has no jobs of. */
const POLL_MIN_MS = 250;
const BACKOFF_MAX_MS = 5_000;
const STOP_LIMIT_MS = 10_000;

/**
 * Does due jobs until stopped. New jobs and ended attempts wake it; it sleeps until the next job is due, and polls for jobs of
 * other replicas every `pollMs`. Any number of processes may work on one queue.
 */
export function startWork<J extends Claimed, O>(options: WorkOptions<J, O>): Worker {
  const work: Work<J, O> = {
    options,
    lanes: createLanes<J>(options),
    wakeUp: createWakeUp(),
    results: [],
    begin: startsTogether(options),
    isStopping: false,
    isNudged: true,
    isFull: false,
    claimedAt: 0,
    dueAt: 0,
    after: 0,
  };
  const running = run(work);
  return {
    nudge() {
      work.isNudged = true;
      work.wakeUp.nudge();
    },
    drop: (group) => work.lanes.drop(group),
    async stop() {
      work.isStopping = true;
      work.wakeUp.force();
      await running;
      await end(work);
    },
  };
}

async function run<J extends Claimed, O>(work: Work<J, O>): Promise<void> {
  const { options, wakeUp } = work;
  let failures = 0;
  let renewAt = performance.now() + RENEW_MS;
  while (!work.isStopping) {
    try {
      await recordAll(work);
      await options.afterRecord?.();
      if (isClaimDue(work)) await claimMore(work);
      if (performance.now() > renewAt) {
        renewAt = performance.now() + RENEW_MS;
        await renewAll(work);
        await abandonAll(options);
      }
      failures = 0;
      const restMs = wakeUp.isNudged()
        ? 0
        : Math.max(1, Math.min(await nextDueAt(work), renewAt) - performance.now());
      if (await wakeUp.sleep(restMs)) await wakeUp.rest(GATHER_MS);
    } catch (error) {
      failures += 1;
      options.log.warn(
        { err: error, failures, queue: options.name },
        "jobs could not be claimed or recorded, trying again",
      );
      await wakeUp.rest(Math.random() * Math.min(BACKOFF_MAX_MS, 100 * 2 ** failures));
    }
  }
}

/** Jobs are claimed many at a time: an attempt that ends is no reason while its group has others. */
function isClaimDue<J extends Claimed, O>({
  options: { inFlightMax },
  lanes,
  isNudged,
  isFull,
  claimedAt,
  dueAt = claimedAt + POLL_MIN_MS,
}: Work<J, O>): boolean {
  if (isFull) return lanes.size <= FULL * inFlightMax;
  return isNudged || lanes.isLow() || performance.now() >= dueAt;
}

async function claimMore<J extends Claimed, O>(work: Work<J, O>): Promise<void> {
  const { options, lanes } = work;
  work.isNudged = false;
  work.dueAt = 0;
  const shares = lanes.free();
  const fromMs = performance.now();
  const limit = Math.min(options.inFlightMax - lanes.size, CLAIM_MAX);
  const claiming = { shares, size: 1, after: work.after, limit };
  const jobs = await options.queue.claim(options.database, claiming);
  for (const job of jobs) {
    work.after = job.group;
    lanes.add(job, fromMs);
  }
  attemptNext(work);
  lanes.claimed(jobs, shares, limit);
  work.isFull = lanes.size >= options.inFlightMax;
  work.claimedAt = performance.now();
  work.dueAt = work.isFull ? Number.POSITIVE_INFINITY : undefined;
}

function attemptNext<J extends Claimed, O>(work: Work<J, O>): void {
  if (work.isStopping) return;
  for (const job of work.lanes.next()) void attempt(work, job);
}

async function attempt<J extends Claimed, O>(work: Work<J, O>, job: J): Promise<void> {
  const { options, lanes, results } = work;
  let isFailure: boolean | undefined;
  try {
    const outcome = await options.attempt(job, (limit) => beginOrRelease(work, job, limit));
    if (outcome !== undefined) {
      isFailure = options.isFailure(outcome);
      results.push({ job, outcome });
    }
  } catch (error) {
    options.log.error({ err: error, job: job.id, queue: options.name }, "job could not be attempted");
  }
  lanes.end(job, isFailure);
  // Without an outcome the job was returned to the queue.
  work.isNudged ||= isFailure === undefined;
  attemptNext(work);
  work.wakeUp.nudge();
}

/** A job whose start may have been committed is returned to the queue: nothing was done for it. */
async function beginOrRelease<J extends Claimed, O>(
  work: Work<J, O>,
  job: J,
  limit: StartLimit | undefined,
): Promise<Begun> {
  const { queue, database } = work.options;
  // This process ends with the effects that have begun: a new one would make that later.
  if (work.isStopping) {
    await queue.release(database, [job]);
    return "lost";
  }
  try {
    return await work.begin(job, limit);
  } catch (error) {
    await throughOutages(() => queue.release(database, [job]));
    throw error;
  }
}

async function recordAll<J extends Claimed, O>(work: Work<J, O>): Promise<void> {
  const { options, results } = work;
  if (results.length === 0) return;
  const ended = results.splice(0);
  const recorded = await options.record(ended).catch((error) => {
    results.unshift(...ended);
    throw error;
  });
  // A job that is attempted again may be due sooner than all others.
  work.isNudged ||= ended.some(({ outcome }) => options.isAgain?.(outcome) ?? true);
  const lost = ended.length - recorded.size;
  if (lost > 0)
    options.log.warn({ lost, queue: options.name }, "results came after their leases had expired");
}

async function renewAll<J extends Claimed, O>({ options, lanes }: Work<J, O>): Promise<void> {
  const held = lanes.held();
  if (held.length === 0) return;
  const fromMs = performance.now();
  lanes.keep(await options.queue.renew(options.database, held), fromMs);
}

async function abandonAll<J extends Claimed, O>(options: WorkOptions<J, O>): Promise<void> {
  const { starts, database, log, name } = options;
  const ids = (await starts?.abandon(database)) ?? [];
  if (ids.length > 0)
    log.error(
      { jobs: ids, queue: name },
      "workers died after starting these jobs: nobody knows whether they took effect",
    );
}

/** When jobs are claimed next although nothing says that there are any. The database is asked once between two claims. */
async function nextDueAt<J extends Claimed, O>(work: Work<J, O>): Promise<number> {
  const { queue, database, pollMs } = work.options;
  if (work.dueAt === undefined) {
    const dueMs = await queue.untilDue(database);
    const tickMs = untilTick(pollMs);
    work.dueAt = performance.now() + Math.min(Math.max(dueMs ?? tickMs, POLL_MIN_MS), tickMs);
  }
  return work.dueAt;
}

async function end<J extends Claimed, O>(work: Work<J, O>): Promise<void> {
  const { options, lanes, wakeUp } = work;
  await options.queue.release(options.database, lanes.takeWaiting());
  const limitAt = performance.now() + (options.stopLimitMs ?? STOP_LIMIT_MS);
  while (lanes.inFlight > 0 && performance.now() < limitAt) {
    await wakeUp.sleep(Math.min(limitAt - performance.now(), RENEW_MS));
    await renewAll(work).catch((error) =>
      options.log.warn({ err: error, queue: options.name }, "leases could not be renewed"),
    );
  }
  await recordAll(work);
}
