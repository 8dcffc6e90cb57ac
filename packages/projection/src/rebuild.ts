import { setTimeout as pause } from "node:timers/promises";
import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Snapshot } from "@tidings/proto/tidings/api/v1/snapshot";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { listedSubject, type Projection } from "./projection.ts";

/** A page of the entities of a type that a service owns, in the order of ids, from after `afterId` on. */
export type ListSnapshots = (
  owner: string,
  request: { type: string; afterId: number; pageSize: number },
  deadlineMs?: number,
) => Promise<Snapshot[]>;

/** A page of the facts of a type, from after a position on. */
export type ListFacts = (
  owner: string,
  request: { type: string; after: FactPosition | undefined; pageSize: number },
) => Promise<{ events: Uint8Array[]; next: FactPosition | undefined }>;

/** `next` as JSON: the partition and the key of a fact. */
interface FactPosition {
  partition: string;
  key: string;
}

interface Rebuilding {
  database: Database;
  log: Log;
  projections: Projection[];
  listSnapshots: ListSnapshots;
  listFacts: ListFacts;
}

/** SQL of a migration, in a schema whose projections have listed facts: how far their builds are. */
export const FACT_BUILDS = ["alter table projection_builds add column position jsonb"];

const PAGE = 500;
const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 30_000;

const beginStatement = prepared(
  "projection_build_begin",
  "insert into projection_builds (name) values ($1) on conflict do nothing",
);
const readStatement = prepared(
  "projection_build_read",
  "select after_id from projection_builds where name = $1 and done_at is null",
);
const advanceStatement = prepared(
  "projection_build_advance",
  `update projection_builds set after_id = greatest(after_id, $2), done_at = case when $3 then now() end
   where name = $1 and done_at is null`,
);
const readPositionStatement = prepared(
  "projection_build_position",
  "select position from projection_builds where name = $1 and done_at is null",
);
/** Replicas that do the same work may be at different positions: the one that was read is the one that is replaced. */
const movePositionStatement = prepared(
  "projection_build_move",
  `update projection_builds set position = $3::jsonb, done_at = case when $3::jsonb is null then now() end
   where name = $1 and done_at is null and position is not distinct from $2::jsonb`,
);

/**
 * Builds projections that were never built from the lists of their owners, page by page, while events are kept as they come. Versions and
 * keys decide which of the two is newer, and the version of a deleted entity keeps it away. Several replicas may do the same work; that
 * is waste and no harm. An owner that is away is asked again.
 */
export function startRebuilding(
  options: Rebuilding,
  keep: (events: Event[]) => Promise<void>,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const steps = options.projections.flatMap(({ owner, rebuilt, listed }) => [
    ...(rebuilt ? [{ ...rebuilt, owner, step: entityStep }] : []),
    ...(listed ? [{ ...listed, owner, step: factStep }] : []),
  ]);
  const running = Promise.all(
    steps.map(({ name, owner, type, step }) =>
      untilDone(options, { name, owner }, () => step(options, { name, owner, type }, keep), stopping.signal),
    ),
  );
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

interface Build {
  name: string;
  owner: string;
  type: string;
}

/** Keeps the next page of entities. Returns true when nothing is left to do. */
async function entityStep(
  { database, listSnapshots }: Rebuilding,
  { name, owner, type }: Build,
  keep: (events: Event[]) => Promise<void>,
): Promise<boolean> {
  await database.query(beginStatement, [name], backgroundDeadline());
  const [build] = await database.query(readStatement, [name], backgroundDeadline());
  if (!build) return true;
  const page = await listSnapshots(owner, { type, afterId: Number(build.after_id), pageSize: PAGE });
  await keep(page.map((snapshot) => listedEvent(type, snapshot)));
  const isDone = page.length < PAGE;
  const lastId = page.at(-1)?.id ?? Number(build.after_id);
  await database.query(advanceStatement, [name, lastId, isDone], backgroundDeadline());
  return isDone;
}

/** Keeps the next page of facts. Returns true when nothing is left to do. */
async function factStep(
  { database, listFacts }: Rebuilding,
  { name, owner, type }: Build,
  keep: (events: Event[]) => Promise<void>,
): Promise<boolean> {
  await database.query(beginStatement, [name], backgroundDeadline());
  const [build] = await database.query(readPositionStatement, [name], backgroundDeadline());
  if (!build) return true;
  const after = build.position ? JSON.parse(build.position) : undefined;
  const { events, next } = await listFacts(owner, { type, after, pageSize: PAGE });
  await keep(events.map((payload) => listedEvent(type, { id: 0, version: 0, payload })));
  const position = next ? JSON.stringify({ partition: next.partition, key: next.key }) : null;
  await database.query(movePositionStatement, [name, build.position ?? null, position], backgroundDeadline());
  return next === undefined;
}

async function untilDone(
  { log }: Rebuilding,
  { name, owner }: { name: string; owner: string },
  step: () => Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (await step()) return;
      failures = 0;
    } catch (error) {
      failures += 1;
      // An owner that starts at the same time is away for a moment.
      if (isOutage(error)) log.info({ projection: name, owner, failures }, "owner is away, asking again");
      else
        log.warn({ err: error, projection: name, failures }, "a projection could not be built, trying again");
      const delayMs = Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures);
      await pause(delayMs, undefined, { signal }).catch(() => undefined); // stopping
    }
  }
}

/** A listed entity, or a page of listed facts, as an event. */
export function listedEvent(type: string, { id, version, payload }: Omit<Snapshot, "$typeName">): Event {
  return {
    id: `${type}/${id}/${version}`,
    subject: listedSubject(type),
    aggregateId: id,
    aggregateVersion: version,
    time: new Date().toISOString(),
    traceparent: undefined,
    actor: undefined,
    payload,
  };
}
