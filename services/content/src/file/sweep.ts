import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Log } from "@tidings/runtime/log";
import { backgroundDeadline, type Database, prepared } from "@tidings/store/database";
import { removeStored } from "./files.ts";
import type { FileStore } from "./store.ts";

export interface SweepContext {
  database: Database;
  store: FileStore;
  arrivals: string;
  log: Log;
}

const INTERVAL_MS = 3_600_000;
/** So long an upload may wait for its asset, and bytes for their row. */
const DAY_MS = 86_400_000;
const SLICE = 1_000;

const unclaimedStatement = prepared(
  "files_sweep_unclaimed",
  `delete from files where name = any(array(
     select name from files where asset_id is null and (directory = 'assets' or starts_with(directory, 'assets/'))
       and created_at < $1::timestamptz order by created_at limit ${SLICE} for update skip locked))
   returning name`,
);

const ownerlessStatement = prepared(
  "files_sweep_ownerless",
  `select s.name from unnest($1::text[]) as s (name)
   where not exists (select from files f where f.name = s.name) and not exists (select from themes t where t.file = s.name)`,
);

/** Takes away what has belonged to nobody for a day: uploads that no asset claimed, bytes without a row, broken-off arrivals. */
export async function sweepFiles(context: SweepContext, now = new Date()): Promise<void> {
  const before = new Date(now.getTime() - DAY_MS);
  await sweepUnclaimed(context, before);
  await sweepOwnerless(context, before);
  await sweepArrivals(context, before);
}

/** Sweeps now and every hour. */
export function startSweeping(context: SweepContext): { stop(): void } {
  const sweep = () =>
    void sweepFiles(context).catch((error) => context.log.warn({ err: error }, "files could not be swept"));
  sweep();
  const timer = setInterval(sweep, INTERVAL_MS);
  return { stop: () => clearInterval(timer) };
}

async function sweepUnclaimed({ database }: SweepContext, before: Date): Promise<void> {
  let deleted = SLICE;
  while (deleted === SLICE)
    deleted = await database.transaction(backgroundDeadline(), async (transaction) => {
      const rows = await transaction.query(unclaimedStatement, [before.toISOString()]);
      removeStored(
        transaction,
        rows.map(({ name }) => name ?? ""),
      );
      return rows.length;
    });
}

async function sweepOwnerless(context: SweepContext, before: Date): Promise<void> {
  let names: string[] = [];
  for await (const { name, keptAt } of context.store.list()) {
    if (keptAt < before) names.push(name);
    if (names.length < SLICE) continue;
    await deleteOwnerless(context, names);
    names = [];
  }
  await deleteOwnerless(context, names);
}

async function deleteOwnerless({ database, store }: SweepContext, names: string[]): Promise<void> {
  const rows = await database.query(ownerlessStatement, [names], backgroundDeadline());
  for (const { name } of rows) await store.delete(name ?? "");
}

async function sweepArrivals({ arrivals }: SweepContext, before: Date): Promise<void> {
  // It is made with the first upload.
  const names = await readdir(arrivals).catch((): string[] => []);
  for (const name of names) {
    const path = join(arrivals, name);
    // Another process sweeps the same.
    const found = await stat(path).catch(() => undefined);
    if (found && found.mtime < before) await rm(path, { force: true });
  }
}
