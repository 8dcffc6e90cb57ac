import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { backgroundDeadline, prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import { exhausted } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { coalesce } from "@tidings/runtime/coalesce";
import type { Log } from "@tidings/runtime/log";
import { slices } from "@tidings/runtime/slices";
import { Counter, Gauge } from "prom-client";
import { type Hit, timeOfId } from "./hit.ts";
import { isKept } from "./meet-visitors.ts";
import { type HitsRecording, type RecordHit, recordHitsIn } from "./record-hits.ts";

/** Hits that wait on disk while the database is away. */
export interface Spill {
  /** Keeps a hit, on disk when it returns. Throws EXHAUSTED when there is no more room. */
  keep(hit: Hit): Promise<void>;
  /** Ends the work that brings hits back. */
  stop(): Promise<void>;
}

export interface SpillOptions extends HitsRecording {
  log: Log;
  /** A folder for the files, of this process and of those before it. */
  folder: string;
  bytesMax: number;
}

const spilled = new Counter({
  name: "tidings_hits_spilled_total",
  help: "Hits that were kept on disk because the database was away",
});
const lost = new Counter({
  name: "tidings_hits_lost_total",
  help: "Hits that could be kept nowhere",
});
const bytesKept = new Gauge({
  name: "tidings_hit_spill_bytes",
  help: "Bytes of hits on disk that are not in the database yet",
});

const FILE_BYTES_MAX = 8 * 1024 * 1024;
const LOOK_MS = 1_000;
const SLICE = 500;
const NAME = /^[0-9a-f-]{36}\.jsonl$/;

/** One process at a time brings hits back, whichever wrote them: the folder may be shared. */
const lock = advisoryLock("hit_spill");
const knownStatement = prepared(
  "page_hits_known",
  `select h.id from json_to_recordset($1::json) as x (id uuid, date_hit timestamptz)
   join page_hits h on h.id = x.id and h.date_hit = x.date_hit`,
);

/** Opens the folder, and brings what is in it into the database whenever that is there. */
export async function openSpill(options: SpillOptions): Promise<Spill> {
  const { folder, bytesMax, log } = options;
  await mkdir(folder, { recursive: true, mode: 0o700 });
  let size = await sizeOf(folder);
  let file = { name: newName(), bytes: 0 };
  bytesKept.set(size);

  const append = coalesce(async (hits: Hit[]) => {
    const lines = hits.map((hit) => `${JSON.stringify(hit)}\n`).join("");
    const bytes = Buffer.byteLength(lines);
    if (size + bytes > bytesMax) throw full(hits);
    if (file.bytes > FILE_BYTES_MAX) file = { name: newName(), bytes: 0 };
    const handle = await open(join(folder, file.name), "a", 0o600);
    try {
      await handle.appendFile(lines);
      await handle.datasync();
    } catch (error) {
      log.error({ err: error }, "hits cannot be kept on disk");
      await handle.truncate(file.bytes).catch(() => undefined); // a file of its own is next, all the same
      file = { name: newName(), bytes: 0 };
      throw full(hits);
    } finally {
      await handle.close();
    }
    file.bytes += bytes;
    size += bytes;
    spilled.inc(hits.length);
    bytesKept.set(size);
  });

  const stopping = new AbortController();
  const bringBack = async () => {
    for (const name of (await readdir(folder)).filter((name) => NAME.test(name)).sort()) {
      // Hits that come meanwhile go into another file.
      if (name === file.name) file = { name: newName(), bytes: 0 };
      const path = join(folder, name);
      for (const hits of slices(await hitsIn(path, log), SLICE)) await replay(options, hits);
      await rm(path, { force: true });
    }
    size = await sizeOf(folder);
    bytesKept.set(size);
  };
  const working = (async () => {
    while (!stopping.signal.aborted) {
      await pause(LOOK_MS, undefined, { signal: stopping.signal }).catch(() => undefined); // we are to stop
      if (size === 0 || stopping.signal.aborted) continue;
      await bringBack().catch((error) => {
        if (!isOutage(error)) log.warn({ err: error }, "hits could not be brought back, trying again");
      });
    }
  })();
  return {
    keep: (hit) => append("hits", hit),
    async stop() {
      stopping.abort();
      await working;
    },
  };
}

function full(hits: Hit[]): Error {
  lost.inc(hits.length);
  return exhausted("There is no room for more hits at the moment.", 60);
}

function newName(): string {
  return `${randomUUID()}.jsonl`;
}

async function sizeOf(folder: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
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

/** Records hits that are not there yet: a process may have ended between the commit and the removal of the file. */
async function replay(visits: HitsRecording, hits: Hit[]): Promise<void> {
  await visits.database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      lock.exclusive(transaction);
      const sent = hits.map(({ id }) => ({ id, date_hit: timeOfId(id).toISOString() }));
      const known = new Set(
        (await transaction.query(knownStatement, [JSON.stringify(sent)])).map(({ id }) => id),
      );
      const missing = hits.filter(({ id }) => !known.has(id));
      if (missing.length > 0) await recordHitsIn(transaction, visits, missing);
    },
    { byIndex: true },
  );
}

/** So long hits go to the disk at once, after the database was away. */
const AWAY_MS = 1_000;

/** Records hits in the database; while that is away, on disk. A hit that leaves no row is not worth a place there. */
export function spillingRecorder(record: RecordHit, spill: Spill): RecordHit {
  let awayUntil = Number.NEGATIVE_INFINITY;
  return async (hit) => {
    if (performance.now() >= awayUntil) {
      try {
        return await record(hit);
      } catch (error) {
        if (!isOutage(error)) throw error;
        awayUntil = performance.now() + AWAY_MS;
      }
    }
    if (isKept(hit)) await spill.keep(hit);
    else lost.inc();
    return undefined;
  };
}
