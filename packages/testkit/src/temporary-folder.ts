import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface TemporaryFolder {
  path: string;
  remove(): Promise<void>;
}

/** A new folder in `parent`; where the system keeps temporary files when absent. */
export async function temporaryFolder(parent = tmpdir()): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(parent, "tidings-"));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}
