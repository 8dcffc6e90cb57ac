import type { Database } from "@tidings/database/database";
import type { Begin } from "@tidings/jobs/begin";
import type { StartLimit } from "@tidings/jobs/limited-starts";
import { type Claimed, type JobTable, jobQueue, type Queue } from "@tidings/jobs/queue";
import { jobStarts, type Starts } from "@tidings/jobs/starts";
import { throughOutages } from "@tidings/jobs/through-outages";
import { type Result, startWork, type Worker } from "@tidings/jobs/work";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { gather } from "@tidings/runtime/coalesce/gather";
import { limited } from "@tidings/runtime/limited";
import type { Log } from "@tidings/runtime/log";
import { Counter } from "prom-client";
import type { Turn, Wait } from "../rate/mail-rates.ts";
import { type Prepared, type SendOutcome, waiting } from "./hand-over.ts";
import { ARE_HELD } from "./send-permits.ts";
import { SendState } from "./send-tables.ts";

/** A queue of messages whose effects are not repeated. */
export interface SendLane<S extends Claimed> {
  name: string;
  queue: Queue<S>;
  starts: Starts<S>;
}

/** SQL: every group of messages that wait. */
export const EVERY_GROUP =
  "select id as group_id, false as is_failing, null::text as turn from waiting_group where id is not null";

/** SQL: when the send `s` of a ledger reached its contact, or may have. */
export const REACHED_AT =
  "case when s.state in ('started', 'unknown', 'sent') then coalesce(s.date_sent, s.started_at) end";

/**
 * A lane of a ledger. Its messages wait alike in all of them: the one that is due first goes out first. None is claimed, or begins, while sends are held: a
 * database may be restored under a process.
 */
export function laneOf<S extends Claimed>(
  ledger: Omit<JobTable<S>, "due" | "lease" | "order" | "startedAt">,
): SendLane<S> {
  const { groups, mayStart = "true" } = ledger;
  const table = {
    ...{ ...ledger, due: "due_at", lease: "leased_until", order: "due_at", startedAt: "started_at" },
    ...{ groups: `${groups} and not ${ARE_HELD}`, mayStart: `${mayStart} and not ${ARE_HELD}` },
  };
  return { name: table.name, queue: jobQueue(table), starts: jobStarts(table) };
}

export interface RunSendsOptions<S extends Claimed> {
  database: Database;
  log: Log;
  /** Messages of the lane that are handed over at a time. */
  connections: number;
  /** How long `stop` waits for messages that are handed over; 10 seconds when absent. */
  stopLimitMs: number | undefined;
  /** Waits until the rate of the lane has a place for a message; messages have no rate when absent. */
  takeTurn?(send: S): Promise<Turn>;
  /** How long a message has to wait, where that is known before it is written. */
  waitOf?(send: S): Wait | undefined;
  /** Does what may be done long before the start is committed. */
  prepare(send: S): Promise<SendOutcome | Prepared>;
  /** Records what became of sends. Those that this process lost meanwhile stay as they are. */
  record(results: Result<S, SendOutcome>[]): Promise<void>;
}

const ended = new Counter({
  name: "tidings_sends_total",
  help: "Attempts of sends by what became of them; `waiting`: they are tried again; `lost`: they were not begun",
  labelNames: ["lane", "state"],
});

/** For sends that other replicas chose. */
const POLL_MS = 1_000;
/** Sends of one group that a process holds. */
const SHARE = 200;
const HELD_MAX = 1_000;
/** Outcomes within this time are recorded together, unless all messages in hand wait for that: their connections are then free together, too. */
const GATHER_MS = 8;

/** Sends what is due in a lane until it is stopped. Any number of processes may do so side by side. */
export function startLane<S extends Claimed>(
  { name, queue, starts }: SendLane<S>,
  { database, log, connections, stopLimitMs, takeTurn, waitOf, prepare, record }: RunSendsOptions<S>,
): Worker {
  const recordTogether = coalesce(record);
  let inHand = 0;
  const gathered = gather({ waitMs: GATHER_MS, isEnough: (count) => count >= inHand });
  const recorded = async (job: S, outcome: SendOutcome | undefined) => {
    await gathered();
    if (outcome !== undefined) await throughOutages(() => recordTogether(name, { job, outcome }));
    ended.inc({ lane: name, state: outcome?.state ?? "lost" });
    return outcome;
  };
  // Groups share the connections, and none is free before its outcome is recorded: so many are unknown after a kill, and no more.
  const inTurn = limited(connections);
  const handOver = (job: S, prepared: Prepared, begin: Begin) =>
    inTurn(async () => {
      // A place at the rate is taken once the message is next: after a wait for others it would go at another time than its place.
      const turn = await takeTurn?.(job);
      let isBegun = false;
      const noted = async (limit?: StartLimit) => {
        const begun = await begin(limit);
        isBegun = begun === "begun";
        return begun;
      };
      inHand += 1;
      try {
        const outcome = await prepared(noted, turn);
        if (!isBegun) turn?.giveBack();
        return await recorded(job, outcome);
      } finally {
        inHand -= 1;
      }
    });
  // While one message is handed over for each connection, as many others are written.
  const prepareInTurn = limited(2 * connections);
  return startWork<S, SendOutcome>({
    database,
    log,
    name,
    queue,
    starts,
    attempt: (job, begin) =>
      prepareInTurn(async () => {
        const wait = waitOf?.(job);
        if (wait) return recorded(job, waiting(wait));
        const prepared = await prepare(job);
        return typeof prepared === "function" ? handOver(job, prepared, begin) : recorded(job, prepared);
      }),
    isFailure: ({ isEverybody }) => isEverybody,
    isAgain: ({ state }) => state === SendState.WAITING,
    // Each attempt has recorded its outcome already.
    record: async (results) => new Set(results.map(({ job }) => job.id)),
    share: SHARE,
    atOnce: 2 * connections,
    inFlightMax: HELD_MAX,
    pollMs: POLL_MS,
    stopLimitMs,
  });
}
