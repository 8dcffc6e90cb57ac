import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);
const CACHE = join(import.meta.dirname, "../../../.cache/debian");

/**
 * The root folder of a Debian package together with those it depends on, as far as the system lacks them. With a `release`, such as
 * `trixie`, it is the package of that release, whichever one the system is.
 */
export function unpackDebianPackage(name: string, release?: string): Promise<string> {
  return unpackDebianPackages(release ? `${name}-${release}` : name, [name], release ? { release } : {});
}

/**
 * The root folder `name` of several packages, likewise; `reinstall` are there even if the system has them. Nothing is installed
 * and no rights are needed. Many processes may ask at once.
 */
export async function unpackDebianPackages(
  name: string,
  packages: string[],
  { reinstall = false, release }: { reinstall?: boolean; release?: string } = {},
): Promise<string> {
  const target = join(CACHE, name);
  if (existsSync(target)) return target;
  await mkdir(CACHE, { recursive: true });
  const workDir = await mkdtemp(join(CACHE, "unpacking-"));
  try {
    const root = join(workDir, "root");
    await mkdir(root);
    for (const archive of await download(packages, { reinstall, release }, workDir))
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

async function download(
  packages: string[],
  { reinstall, release }: { reinstall: boolean; release: string | undefined },
  workDir: string,
): Promise<string[]> {
  const archives = await aptFolder(workDir, "archives");
  const install = ["install", "--download-only", "--yes", "--no-install-recommends", ...packages];
  if (reinstall) install.push("--reinstall");
  const options = { "Dir::Cache::archives": archives };
  const withListsOfOurOwn = async (sources: Record<string, string>) => {
    const lists = {
      "Dir::State::lists": await aptFolder(workDir, "lists"),
      "Dir::Cache": workDir,
      ...sources,
    };
    await aptGet(lists, ["update"]);
    await aptGet({ ...lists, ...options }, install);
  };
  if (release) await withListsOfOurOwn(await sourcesOf(release, workDir));
  // The system's package lists may be missing or out of date.
  else await aptGet(options, install).catch(() => withListsOfOurOwn({}));
  return (await readdir(archives))
    .filter((file) => file.endsWith(".deb"))
    .map((file) => join(archives, file));
}

/** Where the packages of a release are, in place of the system's own sources. */
async function sourcesOf(release: string, workDir: string): Promise<Record<string, string>> {
  const file = join(workDir, "sources.list");
  const key = "/usr/share/keyrings/debian-archive-keyring.gpg";
  await writeFile(file, `deb [signed-by=${key}] http://deb.debian.org/debian ${release} main\n`);
  return { "Dir::Etc::sourcelist": file, "Dir::Etc::sourceparts": "-" };
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
