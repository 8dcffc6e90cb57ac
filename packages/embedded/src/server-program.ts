import { accessSync, constants, existsSync, readdirSync } from "node:fs";
import { delimiter, join } from "node:path";
import { unpackDebianPackage } from "./debian-package.ts";

export interface Program {
  path: string;
  /** Variables it needs to find its libraries. */
  env: NodeJS.ProcessEnv;
}

/** A server program: the one of this machine, else the Debian package of the same name, unpacked into the cache. */
export async function serverProgram(name: "nats-server" | "redis-server"): Promise<Program> {
  const installed = onPath(name);
  if (installed) return { path: installed, env: {} };
  if (process.platform === "darwin") {
    throw new Error(`${name} is not installed. Install it with: brew install ${brewFormula[name]}`);
  }
  const root = await unpackDebianPackage(name);
  const path = ["usr/bin", "usr/sbin"].map((folder) => join(root, folder, name)).find(existsSync);
  if (!path) throw new Error(`The system's package ${name} has no program of this name`);
  return { path, env: { LD_LIBRARY_PATH: libraryFolders(root).join(":") } };
}

const brewFormula = { "nats-server": "nats-server", "redis-server": "redis" };

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
