import { setTimeout as pause } from "node:timers/promises";
import type { Log } from "@tidings/runtime/log";
import type { Database } from "./database.ts";
import { isMigrated, type Migrations } from "./migrate.ts";

const LOOK_MS = 1_000;

/**
 * Waits for as long as it takes until the database is there and its schema has every migration this process knows, and says
 * once what it waits for: somebody else migrates, and a process that ended meanwhile would only be started again.
 */
export async function untilMigrated(database: Database, migrations: Migrations, log: Log): Promise<void> {
  for (let look = 1; ; look += 1) {
    const outcome = await isMigrated(database, migrations).catch((error: Error) => error);
    if (outcome === true) return;
    if (look === 1 && outcome === false) log.warn("waiting: the schema is older than this version");
    else if (look === 1) log.warn({ err: outcome }, "waiting for the database and its schema");
    await pause(LOOK_MS);
  }
}
