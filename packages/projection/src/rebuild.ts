import { setTimeout as pause } from "node:timers/promises";
import type { Event } from "@tidings/bus/event";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Snapshot } from "@tidings/proto/tidings/api/v1/snapshot";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { untilTick } from "@tidings/runtime/tick";
import { listedSubject, nameOf, type Projection } from "./projection.ts";

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

/** The partition and the key of a fact. */
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
  /** Resolves once the events of an owner come by subjects of this version, or consumption ended before that. */
  opened(owner: string): Promise<void>;
  isCurrent?: (() => Promise<boolean>) | undefined;
}

const PAGE = 500;
const BACKOFF_FIRST_MS = 200;
const BACKOFF_MAX_MS = 30_000;
/** The longest time until a process sees that a build was begun. */
const POLL_MS = 30_000;
/** The time that the replacement of all rows of a projection may take. */
const SWITCH_MS = 600_000;

const beginStatement = prepared(
  "projection_build_begin",
  "insert into projection_builds (name) values ($1) on conflict do nothing",
);
const readStatement = prepared(
  "projection_build_read",
  `select after_id, position, is_beside from projection_builds where name = $1 and done_at is null`,
);
/** Replicas that do the same work may be at different pages: the page that was read is the one that is replaced. */
const moveStatement = prepared(
  "projection_build_move",
  `update projection_builds set after_id = $4, position = $5::jsonb, rows_read = rows_read + $6,
     done_at = case when $7 and not (is_beside and $8) then now() end
   where name = $1 and done_at is null and after_id = $2 and position is not distinct from $3::jsonb`,
);
const openStatement = prepared(
  "projection_builds_open",
  "select name from projection_builds where name = any($1::text[]) and done_at is null",
);

const forgetBuiltStatement = prepared(
  "projection_builds_forget",
  `delete from projected_beside where name in (
     select name from projection_builds where name = any($1::text[]) and (done_at is null or $2))`,
);
const restartStatement = prepared(
  "projection_builds_restart",
  `update projection_builds
   set is_beside = is_beside or done_at is not null, after_id = 0, position = null, rows_read = 0, done_at = null, started_at = now()
   where name = any($1::text[]) and (done_at is null or $2)`,
);

/**
 * Called where a later version takes the projections over: an earlier one may have built a part of them without what is new. Where an earlier
 * version had kept events after a later one, all of them are built anew.
 */
export function restartBuilds(transaction: Transaction, names: string[], hasFallen: boolean): void {
  transaction.execute(forgetBuiltStatement, [names, hasFallen]);
  transaction.execute(restartStatement, [names, hasFallen]);
}

/** A page of a build: its events, and where the next one begins. */
interface Page {
  events: Event[];
  rows: number;
  afterId: number;
  position: string | null;
  isLast: boolean;
}

/**
 * Builds projections that were never built, and those that are to be built anew beside the live ones, from the lists of their owners,
 * page by page, while events are kept as they come. Versions and keys decide which of the two is newer, and the version of a deleted entity
 * keeps it away. Several replicas may do the same work; that is waste and no harm. An owner that is away is asked again.
 */
export function startRebuilding(
  options: Rebuilding,
  keep: (events: Event[]) => Promise<void>,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const { signal } = stopping;
  const built = options.projections.filter((projection) => nameOf(projection) !== undefined);
  const run = async () => {
    await Promise.all(built.map((projection) => untilDone(options, projection, keep, signal)));
    while (!signal.aborted) {
      await pause(untilTick(POLL_MS), undefined, { signal }).catch(() => undefined); // stopping
      const open = signal.aborted ? [] : await openBuilds(options, built);
      await Promise.all(open.map((projection) => untilDone(options, projection, keep, signal)));
    }
  };
  const running = run();
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function openBuilds({ database, log }: Rebuilding, built: Projection[]): Promise<Projection[]> {
  try {
    const rows = await database.query(openStatement, [built.map(nameOf)], backgroundDeadline());
    const names = new Set(rows.map(({ name }) => name));
    return built.filter((projection) => names.has(nameOf(projection) ?? null));
  } catch (error) {
    log.warn({ err: error }, "builds of projections could not be read, trying again");
    return [];
  }
}

async function untilDone(
  options: Rebuilding,
  projection: Projection,
  keep: (events: Event[]) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { log } = options;
  // An event that the durable was not sent yet comes after the page that has its entity.
  await options.opened(projection.owner);
  const fields = { projection: nameOf(projection), owner: projection.owner };
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (await buildPage(options, projection, keep)) return;
      failures = 0;
    } catch (error) {
      failures += 1;
      // An owner that starts at the same time is away for a moment.
      if (isOutage(error)) log.info({ ...fields, failures }, "owner is away, asking again");
      else log.warn({ err: error, ...fields, failures }, "a projection could not be built, trying again");
      const delayMs = Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures);
      await pause(delayMs, undefined, { signal }).catch(() => undefined); // stopping
    }
  }
}

/** Keeps the next page of a build, and ends it after the last one. Returns true when nothing is left for this process to do. */
async function buildPage(
  options: Rebuilding,
  projection: Projection,
  keep: (events: Event[]) => Promise<void>,
): Promise<boolean> {
  const { database, isCurrent } = options;
  if ((await isCurrent?.()) === false) return true;
  const name = nameOf(projection);
  await database.query(beginStatement, [name], backgroundDeadline());
  const [build] = await database.query(readStatement, [name], backgroundDeadline());
  if (!build) return true;
  // One that cannot be built beside the live rows is built in their place, by the versions of its events.
  const hasBeside = projection.beside !== undefined;
  const isBeside = hasBeside && build.is_beside === "t";
  const page = await readPage(options, projection, {
    afterId: Number(build.after_id),
    position: build.position ?? null,
  });
  if (isBeside)
    await database.transaction(backgroundDeadline(), async (transaction) =>
      projection.beside?.keep(transaction, page.events),
    );
  else await keep(page.events);
  const { afterId, position, rows, isLast } = page;
  const moved = [name, build.after_id, build.position ?? null, afterId, position, rows, isLast, hasBeside];
  await database.query(moveStatement, moved, backgroundDeadline());
  if (isLast && isBeside)
    await database.transaction(Date.now() + SWITCH_MS, async (transaction) =>
      projection.beside?.replace(transaction),
    );
  return isLast;
}

async function readPage(
  { listSnapshots, listFacts }: Rebuilding,
  { owner, rebuilt, listed }: Projection,
  { afterId, position }: { afterId: number; position: string | null },
): Promise<Page> {
  if (rebuilt) {
    const { type } = rebuilt;
    const page = await listSnapshots(owner, { type, afterId, pageSize: PAGE });
    const events = page.map((snapshot) => listedEvent(type, snapshot));
    const lastId = page.at(-1)?.id ?? afterId;
    return { events, rows: page.length, afterId: lastId, position, isLast: page.length < PAGE };
  }
  const type = listed?.type ?? "";
  const after: FactPosition | undefined = position ? JSON.parse(position) : undefined;
  const { events: payloads, next } = await listFacts(owner, { type, after, pageSize: PAGE });
  const events = payloads.map((payload) => listedEvent(type, { id: 0, version: 0, payload }));
  const reached = next && JSON.stringify({ partition: next.partition, key: next.key });
  // The position of the last page stays: its rows are read again rather than left out when another replica was faster.
  return { events, rows: events.length, afterId, position: reached ?? position, isLast: next === undefined };
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
