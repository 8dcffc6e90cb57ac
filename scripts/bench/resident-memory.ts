import { readFileSync } from "node:fs";

/** Resident megabytes of a process, one after another in time. */
export interface MemoryOfProcess {
  name: string;
  megabytes: number[];
}

export interface Memory {
  everySeconds: number;
  processes: MemoryOfProcess[];
}

export interface MemoryRecord {
  /** Ends the recording and gives what was seen. */
  stop(): Memory;
}

const LOOK_EVERY_MS = 5_000;
const KILOBYTES = 1_024;

/** Looks at the memory of processes, of which the id may change, until it is stopped. */
export function recordMemory(
  processes: { name: string; readonly pid: number }[],
  everyMs: number = LOOK_EVERY_MS,
): MemoryRecord {
  const seen = new Map<string, number[]>(processes.map(({ name }) => [name, []]));
  const look = () => {
    for (const { name, pid } of processes) {
      const megabytes = residentMegabytes(pid);
      if (megabytes !== undefined) seen.get(name)?.push(megabytes);
    }
  };
  const looking = setInterval(look, everyMs);
  return {
    stop() {
      clearInterval(looking);
      look();
      const found = [...seen].map(([name, megabytes]) => ({ name, megabytes }));
      return { everySeconds: everyMs / 1_000, processes: found };
    },
  };
}

/** Undefined when the process is gone, or the system is no Linux. */
function residentMegabytes(pid: number): number | undefined {
  try {
    const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / KILOBYTES);
  } catch {
    return undefined; // it ended, and is started again
  }
}
