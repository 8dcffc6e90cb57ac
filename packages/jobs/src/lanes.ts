import { type Claimed, LEASE_MS } from "./queue.ts";

/** The jobs that a process holds. Each group has a lane of its own, so groups never wait for each other. */
export interface Lanes<J extends Claimed> {
  /** The number of jobs held, waiting or in flight. */
  readonly size: number;
  readonly inFlight: number;
  /** How many more jobs of each group may be claimed. */
  free(): Map<number, number>;
  /** Has a group used up half of the jobs that it may hold, and are there others? They are claimed together, and not one for each that ends. */
  isLow(): boolean;
  /** Adds a job that was claimed at `fromMs` of the monotonic clock. */
  add(job: J, fromMs: number): void;
  /** After a claim of up to `limit` jobs, `asked` of each group: lanes that are empty all the same are removed. */
  claimed(jobs: J[], asked: Map<number, number>, limit: number): void;
  /** Takes the jobs that may be attempted now. They are in flight until `end`. */
  next(): J[];
  /** Ends an attempt; `isFailure` is undefined when it came to no outcome. */
  end(job: J, isFailure: boolean | undefined): void;
  held(): J[];
  /** Removes the jobs that no attempt has begun for. */
  takeWaiting(): J[];
  /** Keeps the waiting jobs that are among `ours`, for another lease from `fromMs` on. */
  keep(ours: Set<J>, fromMs: number): void;
  drop(group: number): void;
}

interface Lane<J> {
  waiting: J[];
  inFlight: Set<J>;
  isOrdered: boolean;
  isFailing: boolean;
  /** The last claim found fewer of its jobs than it asked for. */
  isDrained: boolean;
  /** An attempt succeeded since the lane was opened. Before that, all attempts may hang. */
  isProven: boolean;
}

interface LaneLimits {
  /** How many jobs of one group a process holds. */
  share: number;
  /** How many of them it attempts at a time. */
  atOnce: number;
}

export function createLanes<J extends Claimed>({ share, atOnce }: LaneLimits): Lanes<J> {
  const lanes = new Map<number, Lane<J>>();
  const { hold, isHeld } = leases<J>();
  const shareOf = (lane: Lane<J>) => (isSingle(lane) ? 1 : share);
  return {
    get size() {
      return sum(lanes, sizeOf);
    },
    get inFlight() {
      return sum(lanes, ({ inFlight }) => inFlight.size);
    },
    free() {
      const free = (lane: Lane<J>) => Math.max(0, shareOf(lane) - sizeOf(lane));
      return new Map([...lanes].map(([group, lane]) => [group, free(lane)]));
    },
    isLow: () => [...lanes.values()].some((lane) => !lane.isDrained && sizeOf(lane) <= shareOf(lane) / 2),
    add(job, fromMs) {
      hold(job, fromMs);
      const lane = lanes.get(job.group) ?? newLane<J>();
      lanes.set(job.group, lane);
      lane.isOrdered = job.isOrdered;
      lane.isFailing = job.isFailing;
      lane.waiting.push(job);
    },
    claimed(jobs, asked, limit) {
      const found = Map.groupBy(jobs, ({ group }) => group);
      for (const [group, lane] of lanes) {
        const wanted = asked.get(group) ?? 1;
        lane.isDrained = jobs.length < limit && (found.get(group)?.length ?? 0) < wanted;
        // A lane that became empty during the claim was not asked for more jobs, so its state is kept.
        if (sizeOf(lane) === 0 && wanted > 0) lanes.delete(group);
      }
    },
    next() {
      return [...lanes.values()].flatMap((lane) => take(lane, isSingle(lane) ? 1 : atOnce, isHeld));
    },
    end(job, isFailure) {
      const lane = lanes.get(job.group);
      if (!lane) return;
      lane.inFlight.delete(job);
      if (isFailure === undefined) return;
      lane.isFailing = isFailure;
      lane.isProven ||= !isFailure;
    },
    held: () => [...lanes.values()].flatMap(({ waiting, inFlight }) => [...waiting, ...inFlight]),
    takeWaiting: () => [...lanes.values()].flatMap(({ waiting }) => waiting.splice(0)),
    keep(ours, fromMs) {
      for (const job of ours) hold(job, fromMs);
      for (const lane of lanes.values()) lane.waiting = lane.waiting.filter((job) => ours.has(job));
    },
    drop: (group) => void lanes.delete(group),
  };
}

function leases<J extends Claimed>() {
  const heldUntil = new WeakMap<J, number>();
  return {
    hold: (job: J, fromMs: number) => heldUntil.set(job, fromMs + LEASE_MS),
    // The lease may have expired while this process was paused.
    isHeld: (job: J) => (heldUntil.get(job) ?? 0) > performance.now(),
  };
}

/** Takes jobs of a lane until so many are in flight. */
function take<J>(lane: Lane<J>, inFlightMax: number, isHeld: (job: J) => boolean): J[] {
  const free = inFlightMax - lane.inFlight.size;
  const taken: J[] = [];
  while (taken.length < free) {
    const job = lane.waiting.shift();
    if (!job) break;
    if (isHeld(job)) taken.push(job);
  }
  for (const job of taken) lane.inFlight.add(job);
  return taken;
}

function newLane<J>(): Lane<J> {
  return {
    waiting: [],
    inFlight: new Set(),
    isOrdered: false,
    isFailing: false,
    isDrained: false,
    isProven: false,
  };
}

function sizeOf<J>({ waiting, inFlight }: Lane<J>): number {
  return waiting.length + inFlight.size;
}

function isSingle<J>({ isOrdered, isFailing, isProven }: Lane<J>): boolean {
  return isOrdered || isFailing || !isProven;
}

function sum<J>(lanes: Map<number, Lane<J>>, count: (lane: Lane<J>) => number): number {
  return [...lanes.values()].reduce((total, lane) => total + count(lane), 0);
}
