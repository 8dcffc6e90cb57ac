import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const CACHE = join(import.meta.dirname, "../../../.cache/debian");

/** The root folder of a Debian package together with those it depends on, as far as the system lacks them. */
export function unpackDebianPackage(name: string): Promise<string> {
  return unpackDebianPackages(name, [name]);
}

/**
 * The root folder `name` of several packages, likewise; `reinstall` are there even if the system has them. Nothing is installed
 * and no rights are needed. Many processes may ask at once.
 */
export async function unpackDebianPackages(
  name: string,
  packages: string[],
  { reinstall = false } = {},
): Promise<string> {
  const target = join(CACHE, name);
  if (existsSync(target)) return target;
  await mkdir(CACHE, { recursive: true });
  const workDir = await mkdtemp(join(CACHE, "unpacking-"));
  try {
    const root = join(workDir, "root");
    await mkdir(root);
    for (const archive of await download(packages, reinstall, workDir))
      await run("dpkg-deb", ["-x", archive, root]);
    await rename(root, target).catch((error) => {
      if (!existsSync(target)) throw error; // else another process was faster
    });
    return target;
  } catch (error) {
    throw new Error(`${name} is not installed and its Debian packages could not be fetched`, {
      cause: error,
    });
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

async function download(packages: string[], reinstall: boolean, workDir: string): Promise<string[]> {
  const archives = await aptFolder(workDir, "archives");
  const install = ["install", "--download-only", "--yes", "--no-install-recommends", ...packages];
  if (reinstall) install.push("--reinstall");
  const options = { "Dir::Cache::archives": archives };
  try {
    await aptGet(options, install);
  } catch {
    // The system's package lists are missing or out of date: use lists of our own.
    const lists = { "Dir::State::lists": await aptFolder(workDir, "lists"), "Dir::Cache": workDir };
    await aptGet(lists, ["update"]);
    await aptGet({ ...lists, ...options }, install);
  }
  return (await readdir(archives))
    .filter((file) => file.endsWith(".deb"))
    .map((file) => join(archives, file));
}

async function aptFolder(workDir: string, name: string): Promise<string> {
  const folder = join(workDir, name);
  await mkdir(join(folder, "partial"), { recursive: true });
  return folder;
}

/** Without the system's locks and its download user: both are for changes to the system. */
async function aptGet(options: Record<string, string>, command: string[]): Promise<void> {
  const all = { "Debug::NoLocking": "1", "APT::Sandbox::User": "root", ...options };
  await run("apt-get", [
    ...Object.entries(all).flatMap(([key, value]) => ["-o", `${key}=${value}`]),
    ...command,
  ]);
}
