import { untilBeat } from "@tidings/runtime/beat";
import type { Log } from "@tidings/runtime/log";
import type { Database } from "@tidings/store/database";
import { createWakeUp } from "@tidings/store/wake-up";
import { type Claimed, LEASE_MS, type Queue } from "./queue.ts";

export interface WorkOptions<J extends Claimed, O> {
  database: Database;
  log: Log;
  /** As the log calls it. */
  name: string;
  queue: Queue<J>;
  /** Does a job once. What goes wrong with it is an outcome; what it throws is a bug, and the job comes again with its lease. */
  attempt(job: J): Promise<O>;
  /** Has this attempt failed? Then the group is tried with one job at a time. */
  isFailure(outcome: O): boolean;
  /** Records results, and answers the ids of those that were still ours. */
  record(results: Result<J, O>[]): Promise<Set<string>>;
  /** Called in each pass when results are recorded; what it throws lets the pass be tried again. */
  afterRecord?(): Promise<void>;
  /** Jobs of one group that a process has in hand, and how many of them it does at once. */
  share: number;
  atOnce: number;
  /** Jobs that a process has in hand in all. */
  inHandMax: number;
  /** How long it sleeps at most before it looks whether others made jobs. */
  pollMs: number;
}

export interface Result<J extends Claimed, O> {
  job: J;
  outcome: O;
}

export interface Worker {
  /** There are new jobs: told when the transaction that made them is committed. */
  nudge(): void;
  /** Forgets what it has of a group that is not to be served any more. */
  drop(group: number): void;
  /** Lets attempts in hand end, for a while, and gives the rest back. */
  stop(): Promise<void>;
}

/** The jobs of one group in this process. Each group has its lane, so groups never wait for each other. */
interface Lane<J> {
  waiting: J[];
  inHand: Set<J>;
  isOrdered: boolean;
  isFailing: boolean;
  /** An attempt of it went well since it was opened: until then it may be one of many that hang. */
  isProven: boolean;
}

const CLAIM_MAX = 500;
/** Results and new jobs within this time share one record and one claim. */
const GATHER_MS = 5;
const RENEW_MS = LEASE_MS / 3;
/** When jobs are due that others have, or that replicas made. */
const POLL_MIN_MS = 250;
const BACKOFF_MAX_MS = 5_000;
const STOP_LIMIT_MS = 10_000;

/**
 * Does due jobs until stopped. It is woken by whoever made some and by what ends, and sleeps until the next one is due; every
 * `pollMs` it looks for what its replicas made. Any number of processes may do so side by side.
 */
export function startWork<J extends Claimed, O>(options: WorkOptions<J, O>): Worker {
  const { database, log, queue, share, atOnce } = options;
  const wakeUp = createWakeUp();
  const lanes = new Map<number, Lane<J>>();
  const heldUntil = new WeakMap<J, number>();
  let results: Result<J, O>[] = [];
  let isStopping = false;
  /** The group that was the last to be served. */
  let after = 0;

  const inHandOf = ({ waiting, inHand }: Lane<J>) => waiting.length + inHand.size;
  const inHand = () => [...lanes.values()].reduce((sum, lane) => sum + inHandOf(lane), 0);
  const hold = (job: J, fromMs: number) => heldUntil.set(job, fromMs + LEASE_MS);
  const isHeld = (job: J) => (heldUntil.get(job) ?? 0) > performance.now();
  const isSingle = ({ isOrdered, isFailing, isProven }: Lane<J>) => isOrdered || isFailing || !isProven;

  const attempt = async (job: J, lane: Lane<J>) => {
    lane.inHand.add(job);
    try {
      const outcome = await options.attempt(job);
      lane.isFailing = options.isFailure(outcome);
      lane.isProven ||= !lane.isFailing;
      results.push({ job, outcome });
    } catch (error) {
      log.error({ err: error, job: job.id, queue: options.name }, "job could not be attempted");
    }
    lane.inHand.delete(job);
    attemptNext(lane);
    wakeUp.nudge();
  };

  const attemptNext = (lane: Lane<J>) => {
    while (!isStopping && lane.inHand.size < (isSingle(lane) ? 1 : atOnce)) {
      const job = lane.waiting.shift();
      if (!job) return;
      // The lease may have expired while this process was paused.
      if (isHeld(job)) void attempt(job, lane);
    }
  };

  const recordAll = async () => {
    if (results.length === 0) return;
    const ended = results;
    results = [];
    const recorded = await options.record(ended).catch((error) => {
      results.unshift(...ended);
      throw error;
    });
    const lost = ended.length - recorded.size;
    if (lost > 0)
      log.warn({ lost, queue: options.name }, "results came after their leases had gone to others");
  };

  const claimMore = async () => {
    const free = (lane: Lane<J>) => Math.max(0, (isSingle(lane) ? 1 : share) - inHandOf(lane));
    const shares = new Map([...lanes].map(([group, lane]) => [group, free(lane)]));
    const fromMs = performance.now();
    const limit = Math.min(options.inHandMax - inHand(), CLAIM_MAX);
    if (limit <= 0) return;
    for (const job of await queue.claim(database, { shares, size: 1, after, limit })) {
      hold(job, fromMs);
      after = job.group;
      const lane = lanes.get(job.group) ?? newLane<J>();
      lanes.set(job.group, lane);
      lane.isOrdered = job.isOrdered;
      lane.isFailing = job.isFailing;
      lane.waiting.push(job);
    }
    for (const [group, lane] of lanes) {
      attemptNext(lane);
      // A lane that became empty during the claim was not asked for more jobs, so its state is kept.
      if (inHandOf(lane) === 0 && shares.get(group) !== 0) lanes.delete(group);
    }
  };

  const renewAll = async () => {
    const held = [...lanes.values()].flatMap(({ waiting, inHand }) => [...waiting, ...inHand]);
    if (held.length === 0) return;
    const fromMs = performance.now();
    const ours = await queue.renew(database, held);
    for (const job of held) if (ours.has(job)) hold(job, fromMs);
    for (const lane of lanes.values()) lane.waiting = lane.waiting.filter((job) => ours.has(job));
  };

  /** Milliseconds until something is to be done that nobody wakes us for. */
  const untilNext = async (renewAt: number): Promise<number> => {
    if (inHand() >= options.inHandMax) return renewAt - performance.now();
    const dueMs = await queue.untilDue(database);
    const pollMs = untilBeat(options.pollMs);
    const restMs = Math.min(Math.max(dueMs ?? pollMs, POLL_MIN_MS), pollMs);
    return inHand() > 0 ? Math.min(restMs, renewAt - performance.now()) : restMs;
  };

  const run = async () => {
    let failures = 0;
    let renewAt = performance.now() + RENEW_MS;
    while (!isStopping) {
      try {
        await recordAll();
        await options.afterRecord?.();
        await claimMore();
        if (performance.now() > renewAt) {
          renewAt = performance.now() + RENEW_MS;
          await renewAll();
        }
        failures = 0;
        const restMs = wakeUp.isNudged() ? 0 : Math.max(1, await untilNext(renewAt));
        if (await wakeUp.sleep(restMs)) await wakeUp.rest(GATHER_MS);
      } catch (error) {
        failures += 1;
        log.warn(
          { err: error, failures, queue: options.name },
          "jobs could not be claimed or recorded, trying again",
        );
        await wakeUp.rest(Math.random() * Math.min(BACKOFF_MAX_MS, 100 * 2 ** failures));
      }
    }
  };
  const running = run();

  return {
    nudge: () => wakeUp.nudge(),
    drop: (group) => void lanes.delete(group),
    async stop() {
      isStopping = true;
      wakeUp.force();
      await running;
      const all = [...lanes.values()];
      const unattempted = all.flatMap(({ waiting }) => waiting);
      await queue.release(database, unattempted);
      const limitAt = performance.now() + STOP_LIMIT_MS;
      while (all.some((lane) => lane.inHand.size > 0) && performance.now() < limitAt)
        await wakeUp.sleep(limitAt - performance.now());
      await recordAll();
    },
  };
}

function newLane<J>(): Lane<J> {
  return { waiting: [], inHand: new Set(), isOrdered: false, isFailing: false, isProven: false };
}
