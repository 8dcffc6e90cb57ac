import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { type Job, jobsOf } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Log } from "@tidings/runtime/log";
import { removeStored } from "./files.ts";
import type { FileStore } from "./store.ts";

/** One job, which the migration makes and which is never done: of all replicas one sweeps. */
const sweepJobs = jobsOf("file_sweep");

const HOUR_SECONDS = 3_600;
/** So long an upload may wait for its asset, and bytes for their row. */
const DAY_MS = 86_400_000;
/** The files of one step: its transaction is short, however many the store holds. */
const SLICE = 1_000;

export interface SweepContext {
  database: Database;
  store: FileStore;
  log: Log;
}

/** Takes away what has belonged to nobody for a day, once an hour: uploads that no asset claimed, bytes without a row. */
export function sweeping({ database, store, log }: SweepContext, now: () => number = Date.now): JobOptions {
  return {
    database,
    log,
    jobs: sweepJobs,
    work: (transaction, job) => step(transaction, job, { store, before: new Date(now() - DAY_MS) }),
    // It is never given up: what is in the way now need not be in an hour.
    onFailure: async () => ({ state: "failed", delaySeconds: HOUR_SECONDS }),
  };
}

interface Step {
  store: FileStore;
  before: Date;
}

/** `after` is the last name of the store that was looked at; there is none while uploads are. */
async function step(transaction: Transaction, { payload }: Job, { store, before }: Step): Promise<Outcome> {
  const after = typeof payload.after === "string" ? payload.after : undefined;
  if (after === undefined && (await sweepUnclaimed(transaction, before)))
    return { state: "again", payload: {} };
  const last = await sweepOwnerless(transaction, { store, before, after });
  return last === undefined
    ? { state: "again", payload: {}, delaySeconds: HOUR_SECONDS }
    : { state: "again", payload: { after: last } };
}

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
   where not exists (select from files f where f.name = s.name) and not exists (select from themes t where t.file = s.name)
     and not exists (select from form_files ff where ff.name = s.name)`,
);

/** Answers whether there may be more. */
async function sweepUnclaimed(transaction: Transaction, before: Date): Promise<boolean> {
  const rows = await transaction.query(unclaimedStatement, [before.toISOString()]);
  removeStored(transaction, rows.map(nameOf));
  return rows.length === SLICE;
}

/** Looks at a slice of what the store holds; answers its last name, undefined at the end of the store. */
async function sweepOwnerless(
  transaction: Transaction,
  { store, before, after }: Step & { after: string | undefined },
): Promise<string | undefined> {
  const slice: { name: string; keptAt: Date }[] = [];
  for await (const entry of store.list(after)) {
    slice.push(entry);
    if (slice.length === SLICE) break;
  }
  const old = slice.filter(({ keptAt }) => keptAt < before).map(({ name }) => name);
  removeStored(transaction, (await transaction.query(ownerlessStatement, [old])).map(nameOf));
  return slice.length === SLICE ? slice.at(-1)?.name : undefined;
}

function nameOf({ name }: { name?: string | null }): string {
  return name ?? "";
}
