import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { keptTraceparent } from "@tidings/runtime/telemetry";
import { JobState } from "./job-state.ts";
import type { Outcome } from "./outcome.ts";
import { type Claimed, type JobTable, jobQueue, type Queue } from "./queue.ts";
import {
  addedWith,
  causedBy,
  failRecords,
  keepProgress,
  newRecord,
  reopenedWith,
  type Shown,
  type Subject,
} from "./records.ts";
import { jobStarts, type Starts } from "./starts.ts";

/** A job of the table `jobs`. */
export interface Job extends Claimed {
  key: string;
  payload: Record<string, unknown>;
  /** The trace of the request that added the job. */
  traceparent: string | undefined;
}

export interface NewJob {
  key: string;
  /** 0 when absent. */
  group?: number;
  /** The lowest first; 0 when absent. */
  priority?: number;
  /** At once when absent. */
  delaySeconds?: number;
  payload?: Record<string, unknown>;
  /** The entity that the job is about, in kinds that callers see. A job without one has no record. */
  subject?: Subject;
}

/** Called when jobs were made and committed. */
export type Woken = () => void;

/** The jobs of one kind, in the table `jobs` of the schema. */
export interface Jobs {
  kind: string;
  /** How callers see them, where they do. */
  shown: Shown | undefined;
  queue: Queue<Job>;
  /** The step before the effect, for jobs whose effect cannot be repeated. */
  starts: Starts<Job>;
  /**
   * Adds jobs in the transaction of what makes them necessary. An open or dead-lettered job of the same key is replaced, and its
   * worker loses it. A job whose effect was begun, or may have been, stays as it is.
   */
  add(transaction: Transaction, jobs: NewJob[]): void;
  /** Drops open jobs that cannot be done; workers that hold them lose them. */
  fail(transaction: Transaction, keys: string[], problem: string): void;
  /** Finishes what became of a job, in the transaction of its effect; false when it is not ours any more: then nothing may be kept. */
  finish(transaction: Transaction, job: Job, outcome: Outcome): Promise<boolean>;
  /** Calls `listener` after each commit that left jobs behind. */
  onAdded(listener: Woken): void;
  /** Looks for jobs that another process has added. */
  wake(): void;
  /**
   * Lets jobs that were set aside begin anew; all of them when no keys are named. Jobs in the state `unknown` begin anew only when they are
   * named: somebody has found out that they took no effect. Answers how many.
   */
  replay(database: Database, keys?: string[]): Promise<number>;
  listSetAside(database: Database): Promise<{ key: string; reason: string }[]>;
}

const addText = `insert into jobs (kind, key, fair_group, priority, due_at, payload, traceparent)
   select $1, x.key, x.fair_group, x.priority, now() + x.delay_seconds * interval '1 second', x.payload, $3
   from json_to_recordset($2::json) as x (key text, fair_group integer, priority smallint, delay_seconds float8, payload jsonb)
   order by x.key
   on conflict (kind, key) do update set state = 'waiting', fair_group = excluded.fair_group, priority = excluded.priority,
     due_at = excluded.due_at, payload = excluded.payload, traceparent = excluded.traceparent, attempts = 0, reason = null, lease_token = jobs.lease_token + 1
   where jobs.state in ('waiting', 'set_aside')`;
const addStatement = prepared("jobs_add", addText);
const addShownStatement = prepared("jobs_add_shown", addedWith(addText));
const removeStatement = prepared("jobs_remove", "delete from jobs where kind = $1 and key = any($2::text[])");
const doneStatement = prepared(
  "jobs_done",
  "delete from jobs where id = $1 and lease_token = $2 and state in ('waiting', 'started') returning id",
);
/** The lease ends with it: a renewal that was sent before would keep the job from everybody. */
const finishStatement = prepared(
  "jobs_finish",
  `update jobs set state = $3, started_at = case when $3 = 'unknown' then started_at end, due_at = now() + $4 * interval '1 second', payload = coalesce($5::jsonb, payload),
     attempts = case when $6::boolean then attempts + 1 else 0 end, reason = $7, lease_token = lease_token + 1
   where id = $1 and lease_token = $2 and state in ('waiting', 'started') returning id`,
);
const replayText = `update jobs set state = 'waiting', due_at = now(), attempts = 0, reason = null, lease_token = lease_token + 1
   where kind = $1 and (state = 'set_aside' and $2::text[] is null or state in ('set_aside', 'unknown') and key = any($2::text[]))
   returning key`;
const replayStatement = prepared("jobs_replay", replayText);
const replayShownStatement = prepared("jobs_replay_shown", reopenedWith(replayText));
const setAsideStatement = prepared(
  "jobs_set_aside",
  "select key, reason from jobs where kind = $1 and state = 'set_aside' order by id",
);

interface KindOptions {
  /** A group has one job out at a time, the oldest. */
  isOrdered?: boolean;
  shown?: Shown;
}

/** The kind is a word of the program: it becomes part of the SQL. */
export function jobsOf(kind: string, { isOrdered = false, shown }: KindOptions = {}): Jobs {
  const listeners: Woken[] = [];
  const table = tableOf(kind, isOrdered);
  const wake = () => {
    for (const listener of listeners) listener();
  };
  return {
    kind,
    shown,
    queue: jobQueue(table),
    starts: jobStarts(table),
    onAdded: (listener) => void listeners.push(listener),
    wake,
    add(transaction, jobs) {
      if (jobs.length === 0) return;
      const rows = jobs.map(({ key, group = 0, priority = 0, delaySeconds = 0, payload = {}, subject }) => ({
        key,
        fair_group: group,
        priority,
        delay_seconds: delaySeconds,
        payload,
        ...(subject && newRecord(subject)),
      }));
      const values = [kind, JSON.stringify(rows), keptTraceparent() ?? null];
      if (shown) transaction.execute(addShownStatement, [...values, ...causedBy()]);
      else transaction.execute(addStatement, values);
      transaction.afterCommit(wake);
    },
    fail(transaction, keys, problem) {
      if (keys.length === 0) return;
      transaction.execute(removeStatement, [kind, keys]);
      if (shown) failRecords(transaction, kind, keys, problem);
    },
    async finish(transaction, job, outcome) {
      const isOurs = await finishRow(transaction, job, outcome);
      if (isOurs && shown) keepProgress(transaction, kind, job.key, outcome);
      return isOurs;
    },
    async replay(database, keys) {
      const statement = shown ? replayShownStatement : replayStatement;
      const rows = await database.query(statement, [kind, keys ?? null], backgroundDeadline());
      if (rows.length > 0) wake();
      return rows.length;
    },
    async listSetAside(database) {
      const rows = await database.query(setAsideStatement, [kind], backgroundDeadline());
      return rows.map(({ key, reason }) => ({ key: key ?? "", reason: reason ?? "" }));
    },
  };
}

function tableOf(kind: string, isOrdered: boolean): JobTable<Job> & { startedAt: string } {
  return {
    name: kind,
    table: "jobs",
    where: `kind = '${kind}'`,
    group: "fair_group",
    due: "due_at",
    order: "priority, due_at, id",
    columns: "key, payload, traceparent",
    groups: `select id as group_id, false as is_failing, ${isOrdered ? "'ASC'" : "null::text"} as turn
      from waiting_group where id is not null`,
    jobOf: (claimed, { key, payload, traceparent }) => ({
      ...claimed,
      key: key ?? "",
      payload: JSON.parse(payload ?? "{}"),
      traceparent: traceparent ?? undefined,
    }),
    startedAt: "started_at",
  };
}

/** The row of a job after an attempt; false when the job is not ours any more. */
async function finishRow(
  transaction: Transaction,
  { id, leaseToken }: Job,
  outcome: Outcome,
): Promise<boolean> {
  if (outcome.state === "done") return (await transaction.query(doneStatement, [id, leaseToken])).length > 0;
  const values = [
    "reason" in outcome ? outcome.state : JobState.WAITING,
    ("delaySeconds" in outcome && outcome.delaySeconds) || 0,
    outcome.state === "again" ? JSON.stringify(outcome.payload) : null,
    outcome.state !== "again",
    "reason" in outcome ? outcome.reason : null,
  ];
  return (await transaction.query(finishStatement, [id, leaseToken, ...values])).length > 0;
}
