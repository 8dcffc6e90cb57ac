import { execFileSync } from "node:child_process";
import { cpus, loadavg, totalmem } from "node:os";

const GIGABYTE = 1024 ** 3;

/** Where a run took place. */
export interface Surroundings {
  commit: string;
  cpu: string;
  cores: number;
  memoryGigabytes: number;
  /** The load of the machine before the run began: processes that wanted a core, over a minute. */
  loadBefore: number;
}

export function surroundings(): Surroundings {
  const { model = "unknown" } = cpus()[0] ?? {};
  return {
    commit: commit(),
    cpu: model,
    cores: cpus().length,
    memoryGigabytes: Math.round(totalmem() / GIGABYTE),
    loadBefore: Math.round((loadavg()[0] ?? 0) * 10) / 10,
  };
}

export function surroundingsReport({
  commit,
  cpu,
  cores,
  memoryGigabytes,
  loadBefore,
}: Surroundings): string {
  return `
## Where

Commit \`${commit}\`, ${cores} cores (${cpu}), ${memoryGigabytes} GB of memory; the product, its Postgres and NATS, k6 and the
receiver all on this machine. One gateway and one process of each service. Before the run ${loadBefore} processes wanted a core.
`;
}

function commit(): string {
  try {
    return execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
  } catch {
    return "unknown"; // a copy without its history
  }
}
