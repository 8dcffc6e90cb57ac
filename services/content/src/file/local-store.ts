import { copyFile, mkdir, open, readdir, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { FileStore } from "./store.ts";
import { isStoredName } from "./stored-name.ts";

/**
 * Files in a folder of this machine, spread over sub-folders by the first two characters of their names. A file that is being
 * written lies in `arrivals`, on the same file system: what a crash leaves of it is swept there.
 */
export function localStore(folder: string, arrivals: string): FileStore {
  const pathOf = (name: string): string => {
    if (!isStoredName(name)) throw new Error("not a name of the store");
    return join(folder, name.slice(0, 2), name);
  };
  return {
    async put(name, source) {
      const path = pathOf(name);
      for (const needed of [join(path, ".."), arrivals])
        await mkdir(needed, { recursive: true, mode: 0o700 });
      const unfinished = join(arrivals, `${name}.new`);
      try {
        await copyFile(source, unfinished);
        await flush(unfinished);
        await rename(unfinished, path);
      } catch (error) {
        await rm(unfinished, { force: true });
        throw error;
      }
    },
    async open(name, range) {
      const handle = await open(pathOf(name)).catch(ifMissing);
      return handle?.createReadStream(range);
    },
    async *list(after = "") {
      for (const shelf of await entriesOf(folder)) {
        if (shelf < after.slice(0, 2)) continue;
        for (const name of await entriesOf(join(folder, shelf))) {
          if (name <= after || !isStoredName(name)) continue;
          const found = await stat(join(folder, shelf, name)).catch(ifMissing);
          if (found?.isFile()) yield { name, keptAt: found.mtime };
        }
      }
    },
    delete: (name) => rm(pathOf(name), { force: true }),
    close: () => undefined,
  };
}

/** Waits until a kept file is on the disk. */
async function flush(path: string): Promise<void> {
  const handle = await open(path);
  await handle.sync().finally(() => handle.close());
}

async function entriesOf(folder: string): Promise<string[]> {
  return ((await readdir(folder).catch(ifMissing)) ?? []).sort();
}

function ifMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== "ENOENT" && error.code !== "ENOTDIR") throw error;
}
