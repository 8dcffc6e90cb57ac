import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

/**
 * Writes beside the file and renames: another process reads the old content or the new one, never a part. A file that has
 * the content already stays as it is.
 */
export async function replaceFile(path: string, content: string | Buffer): Promise<void> {
  const bytes = Buffer.from(content);
  const present = await readFile(path).catch(() => undefined);
  if (present?.equals(bytes)) return;
  await mkdir(dirname(path), { recursive: true });
  const beside = `${path}.${randomUUID()}.new`;
  await writeFile(beside, bytes);
  await rename(beside, path);
}

/** The same for all files of a folder. */
export async function replaceFolder(source: string, target: string): Promise<void> {
  for (const entry of await readdir(source, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    await replaceFile(join(target, path.slice(source.length)), await readFile(path));
  }
}
