import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { unpackDebianPackage } from "./debian-package.ts";

export interface Program {
  path: string;
  /** Variables it needs to find its libraries. */
  env: NodeJS.ProcessEnv;
}

/** The packages that have a program, of Debian and of Homebrew. */
const PACKAGES = {
  "nats-server": { debian: "nats-server", brew: "nats-server" },
  "redis-server": { debian: "redis-server", brew: "redis" },
  promtool: { debian: "prometheus", brew: "prometheus" },
};

/** A program: the one of this machine, else that of its Debian package, unpacked into the cache. */
export async function serverProgram(name: keyof typeof PACKAGES): Promise<Program> {
  const installed = onPath(name);
  if (installed) return { path: installed, env: {} };
  const { debian, brew } = PACKAGES[name];
  if (process.platform === "darwin") {
    throw new Error(`${name} is not installed. Install it with: brew install ${brew}`);
  }
  const root = await unpackDebianPackage(debian);
  const path = ["usr/bin", "usr/sbin"].map((folder) => join(root, folder, name)).find(existsSync);
  if (!path) throw new Error(`The system's package ${debian} has no program ${name}`);
  return { path, env: { LD_LIBRARY_PATH: libraryFolders(root).join(":") } };
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
