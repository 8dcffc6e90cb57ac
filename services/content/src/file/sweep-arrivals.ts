import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "@tidings/runtime/log";

const INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Takes away uploads that broke off a day ago, now and every hour. The folder is this machine's: each replica has its own. */
export function startSweepingArrivals(folder: string, log: Log): { stop(): void } {
  const sweep = () =>
    void sweepArrivals(folder).catch((error) => log.warn({ err: error }, "arrivals could not be swept"));
  sweep();
  const timer = setInterval(sweep, INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}

export async function sweepArrivals(folder: string, now = new Date()): Promise<void> {
  // It is made with the first upload.
  const names = await readdir(folder).catch((): string[] => []);
  for (const name of names) {
    const path = join(folder, name);
    // Another process may share the folder.
    const found = await stat(path).catch(() => undefined);
    if (found && found.mtime.getTime() < now.getTime() - DAY_MS) await rm(path, { force: true });
  }
}
