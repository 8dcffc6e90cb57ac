import type { Request } from "autocannon";
import type { Target } from "../measure.ts";
import { untilQuiet } from "../measure.ts";
import { type MemoryOfProcess, recordMemory } from "../resident-memory.ts";
import type { PublicSite } from "./site.ts";
import { type SteadyResult, sendSteadily } from "./steady-load.ts";
import { hitOf } from "./workloads.ts";

/** The API while hits come in, and without them. */
export interface BesideReads {
  alone: SteadyResult;
  beside: SteadyResult;
  hits: SteadyResult;
  /** Seconds from the last answer until all projections had everything. */
  drainSeconds: number;
  memory: MemoryOfProcess[];
}

const HITS_PER_SECOND = 1_000;
const HIT_SECONDS = 60;
const ALONE_SECONDS = 20;
const READS_PER_SECOND = 50;
const HIT_CONNECTIONS = 64;
const READ_CONNECTIONS = 16;
const MEMORY_EVERY_MS = 1_000;

const LISTS = ["companies", "segments", "campaigns", "emails", "forms", "hooks", "stages", "categories"];

/** A dashboard, as the load test `mixed-reads` reads one: a request of it by its number. */
export function readOf(number: number, contacts: number, headers: Record<string, string>): Request {
  const id = 1 + ((number * 7) % contacts);
  const paths = [
    "users/self",
    `contacts/${id}`,
    `contacts/${id}/companies`,
    `contacts/${id}/devices`,
    ...[0, 1, 2, 3].map((step) => `${LISTS[(number + step) % LISTS.length]}?limit=30`),
  ];
  return { method: "GET", path: `/api/${paths[number % paths.length]}`, headers };
}

/** A thousand hits a second for a minute, while the API is read. */
export async function measureBesideReads(
  target: Target,
  site: PublicSite,
  {
    contacts,
    drained,
    processes,
  }: {
    contacts: number;
    drained: () => Promise<void>;
    processes: { name: string; readonly pid: number }[];
  },
): Promise<BesideReads> {
  const read = (seconds: number) =>
    sendSteadily({
      ...{ url: target.url, perSecond: READS_PER_SECOND, seconds, connections: READ_CONNECTIONS },
      request: (number) => readOf(number, contacts, target.headers),
    });
  await read(1);
  const alone = await read(ALONE_SECONDS);
  const memory = recordMemory(processes, MEMORY_EVERY_MS);
  const [beside, hits] = await Promise.all([
    read(HIT_SECONDS),
    sendSteadily({
      ...{ url: target.url, perSecond: HITS_PER_SECOND, seconds: HIT_SECONDS, connections: HIT_CONNECTIONS },
      request: () => hitOf(site),
    }),
  ]);
  const endedAt = performance.now();
  await drained();
  const drainSeconds = (performance.now() - endedAt) / 1_000;
  const seen = memory.stop();
  await untilQuiet(target.pids);
  return { alone, beside, hits, drainSeconds, memory: seen.processes };
}
