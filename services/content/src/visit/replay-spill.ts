import { createHash } from "node:crypto";
import { open, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { backgroundDeadline, prepared } from "@tidings/database/database";
import { sqlState } from "@tidings/database/failure";
import { advisoryLock } from "@tidings/database/lock";
import { Fault } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import { slices } from "@tidings/runtime/slices";
import { type Hit, timeOfId } from "./hit.ts";
import { type HitsRecording, recordHitsIn } from "./record-hits.ts";

/** SQL of a migration: how many hits of a spilled file are in the database. Some leave no row of their own by which that could be seen. */
export const REPLAYED_SPILLS = [
  "create table replayed_spills (name text primary key, hits integer not null, date_modified timestamptz not null default now())",
];

export interface ReplayOptions extends HitsRecording {
  log: Log;
  /** Called when a hit can never be recorded. */
  onRefused(): void;
}

/** Hits of a file, and how many others are before them. */
interface Part {
  path: string;
  name: string;
  from: number;
  hits: Hit[];
}

const SLICE = 500;
/** The file of hits that the database refuses, and its length above which they are named in the log alone. */
const REFUSED = "refused.jsonl";
const REFUSED_BYTES_MAX = 8 * 1024 * 1024;

/** One process at a time brings hits back, whichever wrote them: the folder may be shared. */
const lock = advisoryLock("hit_spill");
const knownStatement = prepared(
  "page_hits_known",
  `select h.id from json_to_recordset($1::json) as x (id uuid, date_hit timestamptz)
   join page_hits h on h.id = x.id and h.date_hit = x.date_hit`,
);
const replayedStatement = prepared(
  "replayed_spills_read",
  "select hits from replayed_spills where name = $1",
);
const progressStatement = prepared(
  "replayed_spills_progress",
  `insert into replayed_spills (name, hits) values ($1, $2)
   on conflict (name) do update set hits = excluded.hits, date_modified = now()`,
);
const endStatement = prepared("replayed_spills_end", "delete from replayed_spills where name = $1");

/** Records the hits of a file, and removes it. A hit that the database refuses is put aside, and holds up no other. */
export async function replaySpill(options: ReplayOptions, folder: string, name: string): Promise<void> {
  const path = join(folder, name);
  let from = 0;
  for (const hits of slices(await hitsIn(path, options.log), SLICE)) {
    await replayPart(options, { path, name, from, hits });
    from += hits.length;
  }
  await rm(path, { force: true });
  await options.database.query(endStatement, [name], backgroundDeadline());
}

/** The hits of a file. A line that a crash cut off was answered to nobody. */
async function hitsIn(path: string, log: Log): Promise<Hit[]> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as Hit];
    } catch {
      log.warn(
        { digest: createHash("sha256").update(line).digest("hex") },
        "a line of spilled hits is not whole",
      );
      return [];
    }
  });
}

async function replayPart(options: ReplayOptions, part: Part): Promise<void> {
  try {
    await recordPart(options, part);
  } catch (error) {
    if (!isOfHits(error)) throw error;
    const { hits, from, ...file } = part;
    const [hit] = hits;
    if (hits.length === 1 && hit) return putAside(options, file.path, hit, error);
    const half = Math.ceil(hits.length / 2);
    await replayPart(options, { ...file, from, hits: hits.slice(0, half) });
    await replayPart(options, { ...file, from: from + half, hits: hits.slice(half) });
  }
}

/** Is the reason in the hits themselves? Any other, such as a table that is not there, would refuse them all, and passes. */
function isOfHits(error: unknown): boolean {
  const state = sqlState(error);
  return state === undefined ? !(error instanceof Fault) : /^(?:22|23|54)/.test(state);
}

/** Records hits that are not there yet: a process may have ended between the commit and the removal of the file. */
async function recordPart(visits: HitsRecording, { path, name, from, hits }: Part): Promise<void> {
  await visits.database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      lock.exclusive(transaction);
      const [replayed] = await transaction.query(replayedStatement, [name]);
      // Another process, which held the lock before, may be done with the file.
      const isThere = await stat(path).catch(() => undefined); // it was removed
      const missing = isThere ? hits.slice(Math.max(0, Number(replayed?.hits ?? 0) - from)) : [];
      if (missing.length === 0) return;
      const sent = missing.map(({ id }) => ({ id, date_hit: timeOfId(id).toISOString() }));
      const known = new Set(
        (await transaction.query(knownStatement, [JSON.stringify(sent)])).map(({ id }) => id),
      );
      const unknown = missing.filter(({ id }) => !known.has(id));
      if (unknown.length > 0) await recordHitsIn(transaction, visits, unknown);
      transaction.execute(progressStatement, [name, from + hits.length]);
    },
    { byIndex: true },
  );
}

async function putAside(
  { log, onRefused }: ReplayOptions,
  path: string,
  hit: Hit,
  error: unknown,
): Promise<void> {
  onRefused();
  log.error({ err: error, hit: hit.id }, "a spilled hit cannot be recorded");
  const handle = await open(join(dirname(path), REFUSED), "a", 0o600);
  try {
    if ((await handle.stat()).size > REFUSED_BYTES_MAX) return;
    await handle.appendFile(`${JSON.stringify(hit)}\n`);
    await handle.datasync();
  } finally {
    await handle.close();
  }
}
