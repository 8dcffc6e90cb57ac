import type { DescMessage } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { currentActor } from "@tidings/rpc/current-actor";
import { v7 } from "uuid";
import type { Outcome, Progress } from "./outcome.ts";
import type { Retained } from "./retention.ts";

/** How callers see the jobs of a kind. */
export interface Shown {
  /** The message of the entity that a job is about. Who may view that sees the job, who may edit it cancels the job. */
  subject: DescMessage;
  /**
   * Present where a job can be cancelled: puts in order what the kind itself keeps of the job, in the transaction that ends it. It takes its
   * locks before those of the job's row, as an attempt does.
   */
  cancel?(transaction: Transaction, key: string): void;
  /** The worker ends a cancelled job, for it has something to take back: `cancel` lets it know. */
  isEndedByWorker?: true;
  /** Present where open jobs go on between attempts: counts how far they are, by key, when a caller asks. */
  progress?(database: Database, keys: string[], deadlineMs: number): Promise<Map<string, Progress>>;
}

/** The entity that a job is about, as it is when the job is added. */
export interface Subject {
  id: number;
  name: string;
  /** Its author; undefined for nobody. */
  ownerId: number | undefined;
}

/** The subject in a row that has `id`, `name` and `created_by`. */
export function subjectIn({ id, name, created_by }: Row): Subject {
  return { id: Number(id), name: name ?? "", ownerId: created_by ? Number(created_by) : undefined };
}

/** How long a record stays after the end of its job. */
export const RECORDS_RETAINED: Retained = {
  kind: "job_records",
  table: "job_records",
  since: "date_ended",
  days: 30,
};

/** SQL that adds jobs, extended by a record for each that has a subject. A job that begins anew before its end keeps its record. */
export function addedWith(add: string): string {
  return `with added as (${add} returning key)
   insert into job_records (id, kind, key, subject_id, subject_name, owner_id, created_by, created_by_user)
   select x.record_id, $1, x.key, x.subject_id, x.subject_name, x.owner_id, $4::integer, $5
   from json_to_recordset($2::json) as x (key text, record_id uuid, subject_id integer, subject_name text, owner_id integer)
   join added using (key) where x.record_id is not null order by x.key
   on conflict (kind, key) where date_ended is null do update set state = 'waiting', done = 0, total = null, problem = null,
     result = '{}', date_started = null, date_modified = null`;
}

/** SQL that lets jobs of a kind begin anew, extended by the last record of each. */
export function reopenedWith(replay: string): string {
  return `with replayed as (${replay}), reopened as (
     update job_records r set state = 'waiting', problem = null, date_ended = null from replayed
     where r.id = (select id from job_records where kind = $1 and key = replayed.key order by id desc limit 1))
   select key from replayed`;
}

/** The record of a new job, in the members that `addedWith` reads. */
export function newRecord({ id, name, ownerId }: Subject) {
  return { record_id: v7(), subject_id: id, subject_name: name, owner_id: ownerId ?? null };
}

/** The id and the name of the user who causes a job; null for what the service does by itself. */
export function causedBy(): [number | null, string | null] {
  const actor = currentActor();
  return actor && actor.kind !== "service" ? [actor.id, actor.name] : [null, null];
}

const progressStatement = prepared(
  "job_records_progress",
  `update job_records set state = $3, done = coalesce($4, done), total = coalesce($5, total), result = coalesce($6::jsonb, result),
     problem = $7, date_started = coalesce(date_started, now()), date_modified = clock_timestamp(),
     date_ended = case when $3 in ('done', 'failed', 'cancelled') then clock_timestamp() end
   where kind = $1 and key = $2 and date_ended is null`,
);
const failStatement = prepared(
  "job_records_fail",
  `update job_records set state = 'failed', problem = $3, date_ended = clock_timestamp()
   where kind = $1 and key = any($2::text[]) and date_ended is null`,
);

/** Keeps what became of a job after an attempt. */
export function keepProgress(transaction: Transaction, kind: string, key: string, outcome: Outcome): void {
  const { done, total, result }: Partial<Progress> = ("progress" in outcome && outcome.progress) || {};
  const [state, problem] = shownState(outcome);
  const values = [done ?? null, total ?? null, result ? JSON.stringify(result) : null, problem ?? null];
  transaction.execute(progressStatement, [kind, key, state, ...values]);
}

/** The state and the problem that callers see after an outcome. The reasons of failures are for operators: they may name tables and values. */
function shownState(outcome: Outcome): [state: string, problem?: string] {
  switch (outcome.state) {
    case "done":
      if (outcome.isCancelled) return ["cancelled"];
      return outcome.problem === undefined ? ["done"] : ["failed", outcome.problem];
    case "again":
      return ["running"];
    case "failed":
      return ["waiting", "The last attempt failed; there will be another one."];
    case "unknown":
      return ["failed", "It is not known whether its last step took effect."];
    case "set_aside":
      return ["failed", "Each of its attempts failed. An operator can let it begin anew."];
  }
}

export function failRecords(transaction: Transaction, kind: string, keys: string[], problem: string): void {
  transaction.execute(failStatement, [kind, keys, problem]);
}
