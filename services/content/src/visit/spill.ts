import { mkdir, open, readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { exhausted } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import type { Log } from "@tidings/runtime/log";
import { Counter, Gauge } from "prom-client";
import { v7 } from "uuid";
import type { Hit } from "./hit.ts";
import { isKept } from "./meet-visitors.ts";
import type { HitsRecording, RecordHit } from "./record-hits.ts";
import { replaySpill } from "./replay-spill.ts";

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
  help: "Hits that could be kept nowhere, or that the database refuses",
});
const bytesKept = new Gauge({
  name: "tidings_hit_spill_bytes",
  help: "Bytes of hits on disk that are not in the database yet",
});

const FILE_BYTES_MAX = 8 * 1024 * 1024;
const LOOK_MS = 1_000;
const NAME = /^[0-9a-f-]{36}\.jsonl$/;

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
      if (file.bytes === 0) await syncFolder(folder);
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
      await replaySpill({ ...options, onRefused: () => lost.inc() }, folder, name);
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

/** Names sort by their time: what came first is recorded first. */
function newName(): string {
  return `${v7()}.jsonl`;
}

/** The name of a new file is in its folder, which is written apart from the file. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function sizeOf(folder: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => NAME.test(name));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** So long hits go to the disk at once, after the database was away. */
const AWAY_MS = 1_000;

/** A hit of a person who may not be known, as counters need it: nothing is kept of who that was. */
function withoutPerson({ id, at, code, pageId, redirectId, source, sourceId, verdict, reason }: Hit): Hit {
  return {
    ...{ id, at, code, pageId, redirectId, source, sourceId, verdict, reason },
    ...{ device: undefined, ip: "", userAgent: "", browserLanguages: [], url: "", urlTitle: "", referer: "" },
    ...{ remoteHost: "", query: {}, timeZone: "", locale: "", pageLanguage: "", values: {}, tags: "" },
  };
}

/** Records hits in the database; while that is away, on disk. */
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
    await spill.keep(isKept(hit) ? hit : withoutPerson(hit));
    return undefined;
  };
}
