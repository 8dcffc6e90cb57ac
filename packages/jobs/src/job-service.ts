import { create } from "@bufbuild/protobuf";
import { compileSql } from "@tidings/database/compile-sql";
import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { timestampFromText } from "@tidings/database/timestamp";
import { type Job, JobSchema, JobService } from "@tidings/proto/tidings/api/v1/job";
import { resource, Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Condition, ListQuery } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { badRequest, conflict, denied, notFound } from "@tidings/rpc/fault";
import { optionOf } from "@tidings/rpc/option";
import { reach } from "@tidings/rpc/permission";
import { type Implementation, implement } from "@tidings/rpc/server";
import { sql } from "kysely";
import { Counter } from "prom-client";
import type { Jobs } from "./jobs.ts";
import type { Progress } from "./outcome.ts";
import type { Shown } from "./records.ts";

const cancelled = new Counter({
  name: "tidings_jobs_cancelled_total",
  help: "Jobs that callers ended before they were done",
  labelNames: ["kind"],
});

/** A kind with the user to whose jobs a caller's right goes; null for a right to those of everybody. */
type Seen = [kind: string, ownerId: number | null];

const COLUMNS = `r.id, r.kind, r.subject_id, r.subject_name, r.state, r.done, r.total, r.problem, r.result, r.date_added, r.created_by,
  r.created_by_user, r.date_started, r.date_ended, r.cancelled_by_user,
  r.key, r.done / greatest(extract(epoch from r.date_modified - r.date_started), 0.001) as rate,
  extract(epoch from clock_timestamp() - r.date_started) as seconds`;

const getStatement = prepared(
  "job_records_get",
  `select ${COLUMNS} from job_records r join unnest($2::text[], $3::integer[]) as seen (kind, owner_id) on seen.kind = r.kind
     and (seen.owner_id is null or seen.owner_id = r.owner_id)
   where r.id = $1`,
);
const dropStatement = prepared(
  "jobs_cancel",
  "delete from jobs where kind = $1 and key = $2 and state in ('waiting', 'set_aside')",
);
const cancelStatement = prepared(
  "job_records_cancel",
  `update job_records r set state = 'cancelled', problem = null, date_ended = clock_timestamp(), cancelled_by_user = $2
   where id = $1 and date_ended is null returning ${COLUMNS}`,
);

/** A cancelled job that its worker ends. */
const askStatement = prepared(
  "job_records_ask",
  `update job_records r set cancelled_by_user = $2 where id = $1 and date_ended is null returning ${COLUMNS}`,
);

/** Shows the jobs of these kinds in the process, and cancels them. */
export function implementJobs(database: Database, kinds: Jobs[]): Implementation {
  const shownOf = new Map(kinds.flatMap(({ kind, shown }) => (shown ? [[kind, shown] as const] : [])));
  const seenBy = ({ actor }: Call, verb: Verb): Seen[] =>
    [...shownOf].flatMap(([kind, { subject }]): Seen[] => {
      const seen = reach(actor, optionOf(subject, resource).permission, verb);
      return seen === "none" ? [] : [[kind, seen === "all" ? null : (actor.id ?? 0)]];
    });
  const jobsOf = async (rows: Row[], { deadlineMs }: Call): Promise<Job[]> =>
    (await withProgress(rows, { database, shownOf, deadlineMs })).map((row) => toJob(row, shownOf));

  const find = async (id: string, call: Call, verb: Verb): Promise<Row | undefined> => {
    const [row] = await database.query(getStatement, [id, ...columnsOf(seenBy(call, verb))], call.deadlineMs);
    return row;
  };

  return implement(JobService, {
    async listJobs({ query }, call) {
      if (!query) throw badRequest("A query is missing.");
      const seen = seenBy(call, Verb.VIEW);
      const run = ({ text, values }: ReturnType<typeof compileSql>) =>
        database.query({ text }, values, call.deadlineMs);
      const [rows, [total]] = await Promise.all([
        run(listText(query, seen)),
        query.skipTotal ? [] : run(countText(query, seen)),
      ]);
      return { jobs: await jobsOf(rows, call), totalSize: Number(total?.count ?? 0) };
    },
    async getJob({ id }, call) {
      const row = await find(id, call, Verb.VIEW);
      if (!row) throw notFound();
      const [job] = await jobsOf([row], call);
      return { job };
    },
    async cancelJob({ id }, call) {
      const row = await find(id, call, Verb.EDIT);
      if (!row) throw (await find(id, call, Verb.VIEW)) ? denied() : notFound();
      const { kind = "", key = "" } = row as Record<string, string>;
      const { cancel, isEndedByWorker } = shownOf.get(kind) ?? {};
      if (!cancel) throw conflict(`A job of the kind ${kind} cannot be cancelled.`);
      const changed = await database.transaction(call.deadlineMs, async (transaction) => {
        cancel(transaction, key);
        if (!isEndedByWorker) transaction.execute(dropStatement, [kind, key]);
        const statement = isEndedByWorker ? askStatement : cancelStatement;
        const rows = await transaction.query(statement, [id, call.actor.name]);
        if (rows.length === 0) throw conflict("The job has ended.");
        transaction.afterCommit(() => cancelled.inc({ kind }));
        return rows;
      });
      const [job] = await jobsOf(changed, call);
      return { job };
    },
  });
}

function columnsOf(seen: Seen[]): [string[], (number | null)[]] {
  return [seen.map(([kind]) => kind), seen.map(([, ownerId]) => ownerId)];
}

/** The latest of each kind by its index, then the latest of them all. */
function listText(query: ListQuery, seen: Seen[]) {
  const { pageSize, after } = query;
  const id = after === "" || after === "[]" ? undefined : after;
  const before = id === undefined ? sql`true` : sql`r.id < ${id}::uuid`;
  const limit = sql`order by id desc limit ${pageSize}::bigint`;
  return compileSql(sql`
    select ${sql.raw(COLUMNS)} from (
      select latest.* from ${seenKinds(seen)} cross join lateral (
        select r.* from job_records r where ${isListed(query)} and ${before} ${limit}) latest
      ${limit}) r order by r.id desc`);
}

function countText(query: ListQuery, seen: Seen[]) {
  return compileSql(sql`select count(*) from ${seenKinds(seen)} join job_records r on ${isListed(query)}`);
}

function seenKinds(seen: Seen[]) {
  const [kinds, owners] = columnsOf(seen);
  return sql`unnest(${kinds}::text[], ${owners}::integer[]) as seen (kind, owner_id)`;
}

function isListed({ where }: ListQuery) {
  const conditions = [
    sql`r.kind = seen.kind and (seen.owner_id is null or seen.owner_id = r.owner_id)`,
    ...where.map(conditionText),
  ];
  return sql.join(conditions, sql` and `);
}

const CONDITIONS: Record<string, (value: string) => ReturnType<typeof sql>> = {
  kind: (value) => sql`r.kind = ${value}`,
  state: (value) => sql`r.state = ${value}`,
  subject_id: (value) => sql`r.subject_id = ${Number(value)}::integer`,
};

function conditionText({ column, expr, values }: Condition) {
  const condition = Object.hasOwn(CONDITIONS, column) && expr === "eq" && CONDITIONS[column];
  if (!condition) throw badRequest(`Jobs are not found by ${column}.`);
  return condition(values[0] ?? "");
}

interface Counting {
  database: Database;
  shownOf: Map<string, Shown>;
  deadlineMs: number;
}

/** The rows with what their kinds count of open jobs: one statement for each kind. */
async function withProgress(rows: Row[], { database, shownOf, deadlineMs }: Counting): Promise<Row[]> {
  const open = Map.groupBy(
    rows.filter(({ date_ended: ended }) => !ended),
    ({ kind }) => kind ?? "",
  );
  const counted = await Promise.all(
    [...open].map(async ([kind, own]): Promise<[Row, Row][]> => {
      const keys = own.map(({ key }) => key ?? "");
      const progress = await shownOf.get(kind)?.progress?.(database, keys, deadlineMs);
      return own.map((row) => [row, { ...row, ...progressed(row, progress?.get(row.key ?? "")) }]);
    }),
  );
  const changed = new Map(counted.flat());
  return rows.map((row) => changed.get(row) ?? row);
}

function progressed({ seconds }: Row, progress: Progress | undefined): Row {
  if (!progress) return {};
  const { done, total, result } = progress;
  return {
    done: String(done),
    total: total === undefined ? null : String(total),
    ...(result && { result: JSON.stringify(result) }),
    ...(seconds && { rate: String(done / Math.max(Number(seconds), 0.001)) }),
  };
}

function toJob(row: Row, shownOf: Map<string, Shown>): Job {
  const { kind = "", done, total, date_started: started, date_ended: ended } = row as Record<string, string>;
  const shown = shownOf.get(kind);
  const rate = started && row.rate !== null ? Math.round(Number(row.rate) * 10) / 10 : undefined;
  const left = total && rate && row.state === "running" ? (Number(total) - Number(done)) / rate : undefined;
  return create(JobSchema, {
    id: row.id ?? "",
    kind,
    subject: {
      type: word(shown?.subject.name ?? ""),
      id: Number(row.subject_id),
      name: row.subject_name ?? "",
    },
    state: row.state ?? "",
    done: Number(done),
    ...(total && { total: Number(total) }),
    ...(rate !== undefined && { rate }),
    ...(left !== undefined && { secondsLeft: Math.max(0, Math.round(left)) }),
    ...(row.problem && { problem: row.problem }),
    result: Buffer.from(row.result ?? "{}"),
    isCancellable: shown?.cancel !== undefined && !ended,
    dateAdded: timestampFromText(row.date_added ?? ""),
    ...(row.created_by && { createdBy: Number(row.created_by) }),
    ...(row.created_by_user && { createdByUser: row.created_by_user }),
    ...(started && { dateStarted: timestampFromText(started) }),
    ...(ended && { dateEnded: timestampFromText(ended) }),
    ...(row.cancelled_by_user && { cancelledByUser: row.cancelled_by_user }),
  });
}

/** PointTrigger: pointTrigger. */
function word(message: string): string {
  return message.charAt(0).toLowerCase() + message.slice(1);
}
