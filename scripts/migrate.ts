import { setTimeout as pause } from "node:timers/promises";
import { createLog, type Log } from "@tidings/runtime/log";
import { Client, DatabaseError } from "pg";
import { migrateConfig } from "./migrate-config.ts";
import { migrateSchemas } from "./migrate-schemas.ts";

const LOOK_MS = 1_000;
const CONNECT_MS = 5_000;
/** Postgres starts, or stops, and refuses until it has. */
const NOT_YET = "57P03";

// The first process of a container is not ended by a signal without a handler.
process.once("SIGTERM", () => process.exit(143));
process.exitCode = await run();

/** Brings the database up to date, however often and by however many it is asked to, and answers the exit code. */
async function run(): Promise<number> {
  const log = createLog("migrate", "info");
  try {
    const { DATABASE_URL: adminUrl, ...config } = migrateConfig(process.env);
    log.level = config.LOG_LEVEL;
    await untilItAnswers(adminUrl, config.DATABASE_WAIT * 1_000, log);
    const { passwordOf, ROLE_PREFIX: rolePrefix } = config;
    for (const { schema, applied } of await migrateSchemas({ adminUrl, rolePrefix, passwordOf }))
      log.info({ schema, applied }, "migrated");
    return 0;
  } catch (error) {
    log.fatal({ reason: reasonOf(error) }, "not migrated");
    return 1;
  }
}

/** A database that refuses us has answered: that is thrown at once. */
async function untilItAnswers(url: string, waitMs: number, log: Log): Promise<void> {
  const giveUpAt = Date.now() + waitMs;
  for (let attempt = 1; ; attempt += 1) {
    const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_MS });
    client.on("error", () => undefined); // the attempt fails as well
    try {
      await client.connect();
      return;
    } catch (error) {
      const isAnswer = error instanceof DatabaseError && error.code !== NOT_YET;
      if (isAnswer || Date.now() > giveUpAt) throw error;
      if (attempt === 1) log.warn({ reason: reasonOf(error) }, "waiting for the database");
      await pause(LOOK_MS);
    } finally {
      await client.end().catch(() => undefined); // it may never have been connected
    }
  }
}

/** One line: an attempt at several addresses of a host fails with a reason for each. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join("; ");
  return error instanceof Error ? error.message : String(error);
}
