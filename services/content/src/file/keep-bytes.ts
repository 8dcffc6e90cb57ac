import { mayBeCommitted } from "@tidings/database/failure";
import type { Saved } from "./save-once.ts";
import type { FileStore } from "./store.ts";

/**
 * Stores bytes first, then their row, which `save` writes. Where the row is certainly not written the bytes go again. After a commit that
 * got no answer they stay: the row may be there, and if it is not the sweep takes them.
 */
export async function keepBytes(
  store: FileStore,
  { name, path }: { name: string; path: string },
  save: () => Promise<Saved>,
): Promise<Saved> {
  await store.put(name, path);
  const remove = () => store.delete(name).catch(() => undefined); // the sweep comes to it
  try {
    const saved = await save();
    if (saved.isReplayed) await remove();
    return saved;
  } catch (error) {
    if (!mayBeCommitted(error)) await remove();
    throw error;
  }
}
