import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "@tidings/runtime/log";
import { atEachTick } from "@tidings/runtime/tick";

const INTERVAL_MS = 3_600_000;
const DAY_MS = 86_400_000;

/** Takes away uploads that broke off a day ago, now and every hour. The folder is this machine's: each replica has its own. */
export function startSweepingArrivals(folder: string, log: Log): { stop(): Promise<void> } {
  const sweep = () =>
    sweepArrivals(folder).catch((error) => log.warn({ err: error }, "arrivals could not be swept"));
  return atEachTick(INTERVAL_MS, sweep, { atOnce: true });
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
