import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";

/** Files here are kept in memory. */
const PARENT = "/dev/shm";
/** Less is not taken: the processes need memory, too. */
const FREE_MIN = 8 * 2 ** 30;

/**
 * A new folder whose files are kept in memory; undefined where there is little of it. Each file of tests has a database of its own, of
 * 2,000 files: on a disk their making and removal takes half of the time of all tests. Removes what runs left that were killed.
 */
export async function memoryFolder(name: string): Promise<string | undefined> {
  const free = await statfs(PARENT).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => 0,
  );
  if (Math.min(free, process.availableMemory()) < FREE_MIN) return undefined;
  await removeAbandoned(`${name}-`);
  return mkdtemp(join(PARENT, `${name}-${process.pid}-`));
}

/** Folders are named by the process that uses them. */
async function removeAbandoned(prefix: string): Promise<void> {
  for (const entry of await readdir(PARENT)) {
    const [pid] = entry.startsWith(prefix) ? entry.slice(prefix.length).split("-") : [];
    const isAbandoned = pid !== undefined && !existsSync(join("/proc", pid));
    if (isAbandoned) await rm(join(PARENT, entry), { recursive: true, force: true });
  }
}
