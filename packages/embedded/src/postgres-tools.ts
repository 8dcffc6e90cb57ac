import { existsSync, globSync } from "node:fs";
import { join } from "node:path";
import { unpackDebianPackage } from "./debian-package.ts";
import { type PostgresProgram, SERVER_USER_ID } from "./postgres-program.ts";

/** A Postgres of the system, of whatever version, with the tools that go with its very version. */
export interface PostgresWithTools extends PostgresProgram {
  pgDump: string;
  pgRestore: string;
}

/** The one that is installed as Debian does, else Debian's package, unpacked into the cache. */
export async function postgresWithTools(): Promise<PostgresWithTools> {
  const folder = folderIn("/") ?? folderIn(await unpackDebianPackage("postgresql"));
  if (!folder) throw new Error("The system's package postgresql has no server with its tools");
  const [postgres = "", initdb = "", pgDump = "", pgRestore = ""] = PROGRAMS.map((name) =>
    join(folder, name),
  );
  return { postgres, initdb, pgDump, pgRestore, locale: ["--locale=C"], userId: SERVER_USER_ID };
}

const PROGRAMS = ["postgres", "initdb", "pg_dump", "pg_restore"];

function folderIn(root: string): string | undefined {
  const folders = globSync("usr/lib/postgresql/*/bin", { cwd: root }).map((path) => join(root, path));
  return folders.find((folder) => PROGRAMS.every((name) => existsSync(join(folder, name))));
}
