import { medianRound } from "../compare.ts";
import { cpuMicroseconds } from "../cpu-time.ts";
import { measure, type Round, type Target } from "../measure.ts";
import { CONNECTIONS, workloads } from "../workloads.ts";
import { hitOf } from "./workloads.ts";

/** Microseconds of CPU: of a hit with all that follows from it, and of reading a contact. */
export interface HitCost {
  hit: number;
  get: number;
  /** The part of each process in the cost of a hit. */
  parts: { name: string; cpu: number }[];
}

export interface HitCostOptions {
  contacts: number;
  seconds: number;
  drained: () => Promise<void>;
  processes: { name: string; readonly pid: number }[];
}

const ROUNDS = 3;

/** Rounds of hits and of GET in turn; the medians. */
export async function measureHitCost(
  target: Target,
  site: { devices: number },
  { contacts, seconds, drained, processes }: HitCostOptions,
): Promise<HitCost> {
  const get = workloads.find(({ name }) => name === "get");
  if (!get) throw new Error("no workload reads a contact");
  const hits: Round[] = [];
  const gets: Round[] = [];
  const ofProcesses = new Map(processes.map(({ name }) => [name, 0]));
  for (let number = 0; number <= ROUNDS; number += 1) {
    const load = { connections: CONNECTIONS, seconds: number === 0 ? 1 : seconds, settled: drained };
    const before = processes.map(({ pid }) => cpuMicroseconds([pid]));
    hits.push(await measure({ ...target, headers: {} }, { ...load, request: () => hitOf(site) }));
    for (const [index, { name, pid }] of processes.entries())
      ofProcesses.set(name, (ofProcesses.get(name) ?? 0) + cpuMicroseconds([pid]) - (before[index] ?? 0));
    gets.push(await measure(target, { ...load, request: () => get.request(contacts) }));
  }
  // The first round of each warms up.
  const hit = medianRound(hits.slice(1)).cpu;
  const sum = [...ofProcesses.values()].reduce((total, cpu) => total + cpu, 0);
  const parts = [...ofProcesses].map(([name, cpu]) => ({ name, cpu: (hit * cpu) / sum }));
  return { hit, get: medianRound(gets.slice(1)).cpu, parts };
}
