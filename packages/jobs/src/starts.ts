import type { Database } from "@tidings/database/database";
import { prepared, queryByIndex } from "@tidings/database/database";
import { type LimitedStart, type LimitedStarts, limitedStarts } from "./limited-starts.ts";
import { type Claimed, heldRows, isWaiting, type JobTable, LEASE, leases, stillHeld } from "./queue.ts";

/** The step before an effect that cannot be repeated, such as a mail, a text message or a call to another system. */
export interface Starts<J extends Claimed> {
  /** Commits that these jobs are started. Returns the jobs that this worker still holds: only their effects may begin. */
  begin(database: Database, jobs: J[]): Promise<Set<J>>;
  /** Commits the starts that the limits of their subjects leave room for. Throws where starts of the table have no limits. */
  beginLimited(database: Database, starts: LimitedStart<J>[]): Promise<LimitedStarts<J>>;
  /** Marks started jobs as `unknown` whose lease has expired: their worker died. Returns their ids, 500 at most. */
  abandon(database: Database): Promise<string[]>;
}

const ABANDONED_MAX = 500;

/**
 * The starts of jobs in a table with a column `startedAt` and a partial index on the due time of rows in the state `started`.
 * Results of such jobs are recorded only for rows in that state with the token of the worker, so a worker that was paused through
 * its lease changes nothing afterwards.
 */
export function jobStarts<J extends Claimed>({
  name,
  table,
  where,
  due,
  startedAt,
  mayStart = "true",
  limited,
}: JobTable<J> & { startedAt: string }): Starts<J> {
  const started = `update ${table} set state = 'started', ${startedAt} = now(), ${due} = now() + ${LEASE}
     ${heldRows(table, isWaiting(`${table}.state`))} and ${mayStart}`;
  const begin = prepared(`${name}_begin`, `${started} returning ${table}.id, ${table}.lease_token`);
  const beginLimited = limited && limitedStarts<J>({ name, table, limited, started });
  const abandon = prepared(
    `${name}_abandon`,
    `update ${table} set state = 'unknown' where id = any (array(
       select id from ${table} where ${where} and state = 'started' and ${due} < now()
       order by ${due} limit ${ABANDONED_MAX} for update skip locked))
     returning id`,
  );
  return {
    async begin(database, jobs) {
      return stillHeld(jobs, await queryByIndex(database, begin, leases(jobs)));
    },
    async beginLimited(database, starts) {
      if (!beginLimited) throw new Error(`starts of ${name} have no limits`);
      return beginLimited(database, starts);
    },
    async abandon(database) {
      const rows = await queryByIndex(database, abandon, []);
      return rows.map(({ id }) => id ?? "");
    },
  };
}
