import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { rolePasswordOf, type Secrets } from "./secrets.ts";

/**
 * The database of users and credentials: `DATABASE_URL`, as the role of that schema, else the one that `npm start` runs
 * on this machine. Throws when there is neither.
 */
export function identityDatabaseUrl(env: NodeJS.ProcessEnv): string {
  if (env.DATABASE_URL) return env.DATABASE_URL;
  const dataDir = resolve(env.DATA_DIR || ".data");
  const secretsFile = join(dataDir, "secrets.json");
  const processFile = join(dataDir, "postgres/cluster/postmaster.pid");
  if (!existsSync(secretsFile) || !existsSync(processFile))
    throw new Error(`Nothing runs on ${dataDir}. Run npm start, or set DATABASE_URL.`);
  const { rolePassword } = JSON.parse(readFileSync(secretsFile, "utf8")) as Secrets;
  // Postgres writes its port into the fourth line.
  const port = readFileSync(processFile, "utf8").split("\n")[3];
  return `postgres://tidings_identity:${rolePasswordOf(rolePassword, "identity")}@127.0.0.1:${port}/tidings`;
}
