import { get } from "node:http";
import { cpuMicroseconds } from "../cpu-time.ts";
import type { Target } from "../measure.ts";
import { recordMemory } from "../resident-memory.ts";
import { median } from "../statistics.ts";

/** Sixteen downloads of a file of 100 MB at once. */
export interface Downloads {
  /** Megabytes a second of all together. */
  ours: number;
  bare: number;
  /** CPU milliseconds of a hundred megabytes. */
  cpu: number;
  bareCpu: number;
  /** Resident megabytes of gateway and content before, and at most. */
  memory: { name: string; before: number; most: number }[];
}

const AT_ONCE = 16;
const ROUNDS = 3;
const MEGABYTE = 1024 * 1024;
const HUNDRED = 100;
const MEMORY_EVERY_MS = 250;

/** Rounds of ours and the bare server in turn; the medians. */
export async function measureDownloads(
  targets: { ours: Target; bare: Target },
  path: string,
  processes: { name: string; readonly pid: number }[],
): Promise<Downloads> {
  const ours: Round[] = [];
  const bare: Round[] = [];
  await downloadAtOnce(targets.ours, path);
  await downloadAtOnce(targets.bare, path);
  const memory = recordMemory(processes, MEMORY_EVERY_MS);
  for (let number = 1; number <= ROUNDS; number += 1) {
    ours.push(await downloadAtOnce(targets.ours, path));
    bare.push(await downloadAtOnce(targets.bare, path));
  }
  const seen = memory.stop();
  return {
    ours: median(ours.map(({ rate }) => rate)),
    bare: median(bare.map(({ rate }) => rate)),
    cpu: median(ours.map(({ cpu }) => cpu)),
    bareCpu: median(bare.map(({ cpu }) => cpu)),
    memory: seen.processes.map(({ name, megabytes }) => ({
      name,
      before: megabytes[0] ?? Number.NaN,
      most: Math.max(...megabytes),
    })),
  };
}

interface Round {
  rate: number;
  cpu: number;
}

async function downloadAtOnce({ url, pids }: Target, path: string): Promise<Round> {
  const cpuBefore = cpuMicroseconds(pids);
  const startedAt = performance.now();
  const sizes = await Promise.all(Array.from({ length: AT_ONCE }, () => download(url + path)));
  const seconds = (performance.now() - startedAt) / 1_000;
  const megabytes = sizes.reduce((sum, size) => sum + size, 0) / MEGABYTE;
  return {
    rate: megabytes / seconds,
    cpu: ((cpuMicroseconds(pids) - cpuBefore) / 1_000 / megabytes) * HUNDRED,
  };
}

/** The bytes that came. */
function download(url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = get(url, { agent: false }, (incoming) => {
      let size = 0;
      incoming.on("data", (chunk: Buffer) => {
        size += chunk.length;
      });
      incoming.once("close", () =>
        incoming.statusCode === 200 && incoming.complete
          ? resolve(size)
          : reject(new Error(`${url}: ${incoming.statusCode} after ${size} bytes`)),
      );
    });
    outgoing.once("error", reject);
  });
}
