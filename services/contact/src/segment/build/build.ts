import { compileSql } from "@tidings/database/compile-sql";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import type { Job } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { Code, Fault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { sql } from "kysely";
import type { FieldCatalogues } from "../../field/catalogue.ts";
import type { MembershipChange } from "../../membership/events.ts";
import { compileDefinition, type Definition } from "../definition/definitions.ts";
import type { Compiled } from "../definition/predicate.ts";
import { followMoves, type SegmentServices, tellMoves, toChange } from "../follow/follow.ts";
import { lockMembers } from "../follow/member-lock.ts";
import { buildJobs, PROBLEM } from "./build-request.ts";

/** The time that one slice should take: events of single contacts wait that long at most. */
const SLICE_MS = 200;
const SLICE_MIN = 500;
const SLICE_MAX = 200_000;

export interface BuildServices extends SegmentServices {
  /** Segments are answered with their filters as they were sent, and not as they are kept. */
  showsFiltersAsSent?: boolean;
  database: Database;
  catalogues: FieldCatalogues;
  log: Log;
}

/**
 * Finds the members of segments that were defined anew. A slice of contacts is one statement in a transaction of its own, which
 * also decides the job. Any number of replicas may do so; what a crash takes along is a slice, and a definition that changes
 * meanwhile begins again.
 */
export function building(services: BuildServices): JobOptions {
  let size = SLICE_MIN * 10;
  return {
    ...buildOptions(services, () => size),
    async work(transaction, job) {
      const startMs = performance.now();
      const outcome = await buildSlice(services, transaction, job, size);
      transaction.afterCommit(() => {
        size = nextSize(size, performance.now() - startMs);
      });
      return outcome;
    },
    onFailure(job, error) {
      const tried = size;
      size = SLICE_MIN;
      return buildFailure(services, job, error, tried);
    },
  };
}

/** How one build is done, by slices of so many contacts. */
export function buildOptions(services: BuildServices, size = () => SLICE_MAX): JobOptions {
  return {
    database: services.database,
    log: services.log,
    jobs: buildJobs,
    work: (transaction, job) => buildSlice(services, transaction, job, size()),
    onFailure: (job, error) => buildFailure(services, job, error, size()),
  };
}

/** Twice as much at most, so that one quick slice does not make a slow one. */
function nextSize(size: number, elapsedMs: number): number {
  const fitting = size * Math.min(SLICE_MS / Math.max(elapsedMs, 1), 2);
  return Math.round(Math.min(Math.max(fitting, SLICE_MIN), SLICE_MAX));
}

const readStatement = prepared(
  "segment_builds_read",
  "select started_at, last_id, position, added, removed from segment_builds where segment_id = $1 for update",
);
const startStatement = prepared(
  "segment_builds_start",
  `update segment_builds set started_at = clock_timestamp(),
     last_id = (select coalesce(max(id), 0) from contacts) where segment_id = $1 returning last_id`,
);
const advanceStatement = prepared(
  "segment_builds_advance",
  "update segment_builds set position = $2, added = added + $3, removed = removed + $4 where segment_id = $1",
);
const finishStatement = prepared(
  "segment_builds_finish",
  `update segment_builds set requested_at = null, position = coalesce(last_id, 0), problem = $2,
     built_at = case when $2::text is null then clock_timestamp() else built_at end,
     seconds = case when $2::text is null
       then extract(epoch from clock_timestamp() - coalesce(started_at, clock_timestamp())) else seconds end
   where segment_id = $1`,
);

/** The others have their turn before what failed is tried again. */
const POSTPONED_SECONDS = 0.5;

/** A build that cannot be done is given up; its segment shows the problem. */
async function buildFailure(
  { database }: BuildServices,
  { key }: Job,
  error: unknown,
  size: number,
): Promise<Outcome> {
  if (!isHopeless(error, size)) return { state: "failed", delaySeconds: POSTPONED_SECONDS };
  await database.query(finishStatement, [Number(key), PROBLEM], backgroundDeadline());
  return { state: "done", problem: PROBLEM };
}

/** A build that takes too long is tried with the smallest slice first. */
function isHopeless(error: unknown, size: number): boolean {
  const isTimeout = error instanceof Fault && error.code === Code.DEADLINE_EXCEEDED;
  return isTimeout ? size <= SLICE_MIN : !isOutage(error);
}

/** The segment was deleted, and its build with it. */
const GONE: Outcome = { state: "done", problem: "The segment was deleted." };

async function buildSlice(
  { readDefinitions, outbox, catalogues }: BuildServices,
  transaction: Transaction,
  { key }: Job,
  size: number,
): Promise<Outcome> {
  const catalogue = await catalogues.atLeast(0);
  lockMembers(transaction);
  const definitions = await readDefinitions(transaction.query);
  const definition = definitions.get(Number(key));
  if (!definition) return GONE;
  const { compiled, problem } = compileDefinition(definition, definitions, catalogue);
  if (!compiled || !definition.isPublished) {
    transaction.execute(finishStatement, [definition.id, problem ?? null]);
    return { state: "done", ...(problem && { problem }) };
  }
  const [build] = await transaction.query(readStatement, [definition.id]);
  // Deleted after its definition was read: the row is locked from here on.
  if (!build) return GONE;
  const lastId = Number(build.started_at ? build.last_id : (await start(transaction, definition)).last_id);
  const from = Number(build.position);
  const moved = await moveSlice(transaction, definition, compiled, from, from + size);
  const added = moved.filter(({ isAdded }) => isAdded).length;
  transaction.execute(advanceStatement, [
    definition.id,
    Math.min(from + size, lastId),
    added,
    moved.length - added,
  ]);
  const isDone = from + size >= lastId;
  if (isDone) transaction.execute(finishStatement, [definition.id, null]);
  tellMoves(transaction, outbox, definitions, moved);
  await followMoves(transaction, outbox, { definitions, catalogue }, moved);
  const progress = {
    done: Math.min(from + size, lastId),
    total: lastId,
    result: {
      added: Number(build.added) + added,
      removed: Number(build.removed) + moved.length - added,
    },
  };
  return isDone ? { state: "done", progress } : { state: "again", payload: {}, progress };
}

async function start(transaction: Transaction, { id }: Definition): Promise<Row> {
  const [row] = await transaction.query(startStatement, [id]);
  return row ?? {};
}

/** The difference between who is a member and who should be, for the contacts of a range of ids, in one statement. */
async function moveSlice(
  transaction: Transaction,
  { id }: Definition,
  { predicate }: Compiled,
  from: number,
  until: number,
): Promise<MembershipChange[]> {
  const inRange = (column: string) =>
    sql`${sql.ref(column)} > ${from}::integer and ${sql.ref(column)} <= ${until}::integer`;
  const { text, values } = compileSql(sql`
    with matched as materialized (select c.id from contacts c where ${inRange("c.id")} and (${predicate})),
    present as materialized (
      select m.contact_id, m.manually_added from segment_contacts m
      where m.segment_id = ${id}::integer and ${inRange("m.contact_id")}),
    added as (
      insert into segment_contacts (segment_id, contact_id, date_added)
      select ${id}::integer, matched.id, now() from matched
      where not exists (select from present where present.contact_id = matched.id)
      on conflict do nothing returning contact_id),
    removed as (
      delete from segment_contacts m using present
      where m.segment_id = ${id}::integer and m.contact_id = present.contact_id and not m.manually_added
        and not exists (select from matched where matched.id = present.contact_id)
      returning m.contact_id, m.manually_removed)
    select ${id}::integer as segment_id, contact_id, true as is_added from added
    union all select ${id}::integer, contact_id, false from removed where not manually_removed`);
  return (await transaction.query({ text }, values)).map(toChange);
}
