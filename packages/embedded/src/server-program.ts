import { execFile } from "node:child_process";
import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { unpackDebianPackage } from "./debian-package.ts";

export interface Program {
  path: string;
  /** Variables it needs to find its libraries. */
  env: NodeJS.ProcessEnv;
}

interface Package {
  /** The packages that have the program, of Debian and of Homebrew. */
  debian: string;
  brew: string;
  /** The Debian release whose package is new enough, where that of an older release would not be. */
  release?: string;
  /** The oldest version that will do: `2.10`. */
  versionMin?: string;
}

const PACKAGES = {
  "nats-server": { debian: "nats-server", brew: "nats-server", release: "trixie", versionMin: "2.10" },
  "redis-server": { debian: "redis-server", brew: "redis" },
  promtool: { debian: "prometheus", brew: "prometheus" },
} satisfies Record<string, Package>;

/**
 * A program: the one of this machine, else that of its Debian package, unpacked into the cache. Throws when the one of this machine
 * is too old.
 */
export async function serverProgram(name: keyof typeof PACKAGES): Promise<Program> {
  const { debian, brew, release, versionMin }: Package = PACKAGES[name];
  const installed = onPath(name);
  if (installed) {
    if (versionMin) await requireVersion(installed, versionMin, debian);
    return { path: installed, env: {} };
  }
  if (process.platform === "darwin") {
    throw new Error(`${name} is not installed. Install it with: brew install ${brew}`);
  }
  const root = await unpackDebianPackage(debian, release);
  const path = ["usr/bin", "usr/sbin"].map((folder) => join(root, folder, name)).find(existsSync);
  if (!path) throw new Error(`The system's package ${debian} has no program ${name}`);
  return { path, env: { LD_LIBRARY_PATH: libraryFolders(root).join(":") } };
}

async function requireVersion(path: string, versionMin: string, debian: string): Promise<void> {
  const { stdout } = await promisify(execFile)(path, ["--version"]);
  const [version = "of no known version"] = /\d+(?:\.\d+)+/.exec(stdout) ?? [];
  if (isAtLeast(version, versionMin)) return;
  throw new Error(
    `${path} is ${version}, and ${versionMin} or later is needed: install a later one, or take it off the PATH, and that of the Debian package ${debian} is fetched.`,
  );
}

export function isAtLeast(version: string, min: string): boolean {
  const numbers = (text: string) => text.split(".").map(Number);
  const [own, wanted] = [numbers(version), numbers(min)];
  for (const [index, number] of wanted.entries()) {
    const difference = (own[index] ?? 0) - number;
    if (difference !== 0 || Number.isNaN(difference)) return difference > 0;
  }
  return true;
}

/** A program of this machine. */
export function onPath(name: string): string | undefined {
  const folders = (process.env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Debian keeps libraries in a folder named after the machine, such as usr/lib/x86_64-linux-gnu. */
export function libraryFolders(root: string): string[] {
  return ["usr/lib", "lib"]
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .filter((folder) => folder.includes("-linux-gnu"));
}
