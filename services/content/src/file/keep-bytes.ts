import { mayBeCommitted } from "@tidings/database/failure";
import type { FileStore } from "./store.ts";

/** A file on this machine, and the name that it gets in the store. */
export interface NamedFile {
  name: string;
  path: string;
}

/**
 * Stores bytes first, then their row, which `save` writes. Where the row is certainly not written the bytes go again. After a commit that
 * got no answer they stay: the row may be there, and if it is not the sweep takes them.
 */
export async function keepBytes<T extends { isReplayed: boolean }>(
  store: FileStore,
  file: NamedFile,
  save: () => Promise<T>,
): Promise<T> {
  return keepAll(store, [file], async () => {
    const saved = await save();
    return { saved, unused: saved.isReplayed ? [file.name] : [] };
  });
}

/** The same for several files, of which `save` may leave some unused. */
export async function keepAll<T>(
  store: FileStore,
  files: NamedFile[],
  save: () => Promise<{ saved: T; unused: string[] }>,
): Promise<T> {
  const remove = (names: string[]) =>
    Promise.all(names.map((name) => store.delete(name).catch(() => undefined))); // the sweep comes to them
  const names = files.map(({ name }) => name);
  try {
    for (const { name, path } of files) await store.put(name, path);
    const { saved, unused } = await save();
    await remove(unused);
    return saved;
  } catch (error) {
    if (!mayBeCommitted(error)) await remove(names);
    throw error;
  }
}
