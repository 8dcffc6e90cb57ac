import { setTimeout as pause } from "node:timers/promises";
import type { Event } from "@tidings/bus/event";
import type { Snapshot } from "@tidings/proto/tidings/api/v1/snapshot";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import { listedSubject, type Projection } from "./projection.ts";

/** A page of what a process owns of a type, in the order of ids, from after `afterId` on. */
export type ListSnapshots = (
  owner: string,
  request: { type: string; afterId: number; pageSize: number },
  deadlineMs?: number,
) => Promise<Snapshot[]>;

interface Rebuilding {
  database: Database;
  log: Log;
  projections: Projection[];
  listSnapshots: ListSnapshots;
}

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

/**
 * Makes projections that were never made from what their owners have, page by page, while events are kept as they come:
 * versions decide which of the two is newer, and the version of what was deleted keeps it away. Several replicas may do the same
 * work; that is waste and no harm. An owner that is away is asked again.
 */
export function startRebuilding(
  options: Rebuilding,
  keep: (events: Event[]) => Promise<void>,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  const running = Promise.all(
    options.projections.map(async (projection) => {
      if (projection.rebuilt)
        await rebuild(options, projection, { ...projection.rebuilt, keep }, stopping.signal);
    }),
  );
  return {
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

async function rebuild(
  { database, log, listSnapshots }: Rebuilding,
  { owner }: Projection,
  { name, type, keep }: { name: string; type: string; keep(events: Event[]): Promise<void> },
  signal: AbortSignal,
): Promise<void> {
  /** True when there is nothing left to do. */
  const step = async (): Promise<boolean> => {
    await database.query(beginStatement, [name], backgroundDeadline());
    const [build] = await database.query(readStatement, [name], backgroundDeadline());
    if (!build) return true;
    const page = await listSnapshots(owner, { type, afterId: Number(build.after_id), pageSize: PAGE });
    await keep(page.map((snapshot) => eventOf(type, snapshot)));
    const isDone = page.length < PAGE;
    const lastId = page.at(-1)?.id ?? Number(build.after_id);
    await database.query(advanceStatement, [name, lastId, isDone], backgroundDeadline());
    return isDone;
  };
  for (let failures = 0; !signal.aborted; ) {
    try {
      if (await step()) return;
      failures = 0;
    } catch (error) {
      failures += 1;
      // An owner that starts beside us is away for a moment.
      if (isOutage(error)) log.info({ projection: name, owner, failures }, "owner is away, asking again");
      else
        log.warn({ err: error, projection: name, failures }, "a projection could not be made, trying again");
      const delayMs = Math.random() * Math.min(BACKOFF_MAX_MS, BACKOFF_FIRST_MS * 2 ** failures);
      await pause(delayMs, undefined, { signal }).catch(() => undefined); // we are to stop
    }
  }
}

/** A snapshot is told of as an event of that version would be. */
export function eventOf(type: string, { id, version, payload }: Snapshot): Event {
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
