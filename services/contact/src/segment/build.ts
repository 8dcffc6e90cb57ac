import { Code, Fault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { type Repetition, repeat } from "@tidings/runtime/repeat";
import { compileSql } from "@tidings/store/compile-sql";
import {
  backgroundDeadline,
  type Database,
  prepared,
  type Row,
  type Transaction,
} from "@tidings/store/database";
import { sql } from "kysely";
import type { FieldCatalogue, FieldCatalogues } from "../field/catalogue.ts";
import { PROBLEM } from "./culprits.ts";
import { compileDefinition, compileDefinitions, type Definition, midnight } from "./definitions.ts";
import type { MembershipChange } from "./events.ts";
import { followMoves, type SegmentServices, tellMoves, toChange } from "./follow.ts";
import type { Compiled } from "./predicate.ts";
import { takeTurn } from "./turn.ts";

const INTERVAL_MS = 500;
/** What one slice should take: for so long at most do those wait who follow single contacts. */
const SLICE_MS = 200;
const SLICE_MIN = 500;
const SLICE_MAX = 200_000;

export interface BuildServices extends SegmentServices {
  database: Database;
  catalogues: FieldCatalogues;
  log: Log;
}

/**
 * Finds the members of segments that were defined anew, and each day those of segments that read the date. A slice of
 * contacts is one statement in a transaction of its own. Any number of replicas may do so; what a crash takes along is a
 * slice, and a definition that changes meanwhile begins again.
 */
export function startBuilding(services: BuildServices): Repetition {
  let size = SLICE_MIN * 10;
  const step = async () => {
    const startMs = performance.now();
    const isBusy = await buildStep(services, size).catch((error) => {
      size = SLICE_MIN;
      throw error;
    });
    if (isBusy) size = nextSize(size, performance.now() - startMs);
    return isBusy;
  };
  return repeat(step, { intervalMs: INTERVAL_MS, log: services.log, name: "building segments" });
}

/** Twice as much at most, so that one quick slice does not make a slow one. */
function nextSize(size: number, elapsedMs: number): number {
  const fitting = size * Math.min(SLICE_MS / Math.max(elapsedMs, 1), 2);
  return Math.round(Math.min(Math.max(fitting, SLICE_MIN), SLICE_MAX));
}

const nextBuild = prepared(
  "segment_builds_next",
  `select segment_id, started_at, last_id, position from segment_builds where requested_at is not null
   order by requested_at limit 1 for update skip locked`,
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

/**
 * One slice of the build that was asked for first; false when there is none. One that cannot be done is set aside with its
 * problem, so that the others go on.
 */
export async function buildStep(services: BuildServices, size = SLICE_MAX): Promise<boolean> {
  const catalogue = await services.catalogues.latest();
  await requestDailyBuilds(services, catalogue);
  let segmentId: string | null | undefined;
  const { database } = services;
  try {
    return await database.transaction(backgroundDeadline(), async (transaction) => {
      const [build] = await transaction.query(nextBuild);
      if (!build) return false;
      segmentId = build.segment_id;
      await buildSlice(services, transaction, catalogue, build, size);
      return true;
    });
  } catch (error) {
    if (segmentId && isHopeless(error, size))
      await database.query(finishStatement, [segmentId, PROBLEM], backgroundDeadline());
    else if (segmentId && !isOutage(error))
      await database.query(postponeStatement, [segmentId], backgroundDeadline());
    throw error;
  }
}

/** The others have their turn before it is tried again. */
const postponeStatement = prepared(
  "segment_builds_postpone",
  "update segment_builds set requested_at = clock_timestamp() where segment_id = $1 and requested_at is not null",
);

/** What takes too long is tried with the smallest slice first. */
function isHopeless(error: unknown, size: number): boolean {
  const isTimeout = error instanceof Fault && error.code === Code.DEADLINE_EXCEEDED;
  return isTimeout ? size <= SLICE_MIN : !isOutage(error);
}

async function buildSlice(
  { readDefinitions, outbox }: SegmentServices,
  transaction: Transaction,
  catalogue: FieldCatalogue,
  build: Row,
  size: number,
): Promise<void> {
  takeTurn(transaction);
  const definitions = await readDefinitions(transaction.query);
  const definition = definitions.get(Number(build.segment_id));
  if (!definition) return; // deleted, and its build with it
  const { compiled, problem } = compileDefinition(definition, definitions, catalogue);
  if (!compiled || !definition.isPublished)
    return transaction.execute(finishStatement, [definition.id, problem ?? null]);

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
  if (from + size >= lastId) transaction.execute(finishStatement, [definition.id, null]);
  tellMoves(transaction, outbox, definitions, moved);
  await followMoves(transaction, outbox, { definitions, catalogue }, moved);
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

const requestStatement = prepared(
  "segment_builds_request_daily",
  `select request_segment_build(segment_id) from segment_builds
   where segment_id = any($1::integer[]) and requested_at is null and built_at < $2::timestamptz`,
);

/** Segments that read the date are built once a day has begun, whichever replica sees it first. */
async function requestDailyBuilds(
  { database, readDefinitions }: BuildServices,
  catalogue: FieldCatalogue,
): Promise<void> {
  const deadlineMs = backgroundDeadline();
  const definitions = await readDefinitions((statement) => database.query(statement, [], deadlineMs));
  const daily = compileDefinitions(definitions, catalogue)
    .filter(({ isPublished, compiled }) => isPublished && compiled?.isDaily)
    .map(({ id }) => id);
  if (daily.length === 0) return;
  await database.query(requestStatement, [daily, new Date(midnight()).toISOString()], deadlineMs);
}
