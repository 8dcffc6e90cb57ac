import { chmodSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandLineOf } from "@tidings/embedded/command-line";

/**
 * Makes this process the only one that works on a data directory, until it ends or calls what is returned. Throws when
 * another one does. The lock of a process that was killed does not count.
 */
export function lockDataDir(dataDir: string): () => void {
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  chmodSync(dataDir, 0o700); // passwords, mails and addresses of people lie in it
  const path = join(dataDir, "lock");
  const release = () => rmSync(path, { force: true });
  if (tryLock(path)) return release;
  const owner = Number(readFileSync(path, "utf8"));
  if (isStart(owner)) throw new Error(`Tidings already runs on ${dataDir} (process ${owner}).`);
  release();
  if (tryLock(path)) return release;
  throw new Error(`Tidings is being started on ${dataDir} by another process.`);
}

function tryLock(path: string): boolean {
  try {
    writeFileSync(path, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EEXIST") return false;
    throw error;
  }
}

/** Process ids are used again, by this process even, after a restart of the machine or container. */
function isStart(pid: number): boolean {
  return pid !== process.pid && (commandLineOf(pid)?.includes("start.ts") ?? false);
}
