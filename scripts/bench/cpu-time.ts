import { readdirSync, readFileSync } from "node:fs";

/** Linux counts CPU time in hundredths of a second (USER_HZ), on every architecture Node runs on. */
const MICROSECONDS_PER_TICK = 10_000;

interface ProcessTime {
  parent: number;
  ticks: number;
}

/** CPU microseconds that these processes and their descendants have used, those that have ended included. */
export function cpuMicroseconds(roots: number[]): number {
  const times = processTimes();
  const counted = new Set(roots);
  // A child may come before its parent in the list: repeat until nothing is added.
  for (let size = 0; size !== counted.size; ) {
    size = counted.size;
    for (const [pid, { parent }] of times) if (counted.has(parent)) counted.add(pid);
  }
  let ticks = 0;
  for (const pid of counted) ticks += times.get(pid)?.ticks ?? 0;
  return ticks * MICROSECONDS_PER_TICK;
}

function processTimes(): Map<number, ProcessTime> {
  const times = new Map<number, ProcessTime>();
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const stat = readStat(name);
    if (!stat) continue;
    // proc(5): the command is in brackets and may contain anything; state and ppid follow it, utime is the 14th field.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    times.set(Number(name), { parent: Number(fields[1]), ticks });
  }
  return times;
}

function readStat(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return undefined; // it ended meanwhile
    throw error;
  }
}
