import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Log } from "@tidings/runtime/log";
import { fatesAlone, fatesLock } from "./contact-fates.ts";
import type { Projection } from "./projection.ts";

const jobs = jobsOf("contact_fate");
/** Rows of one table that a step of the job moves or deletes. */
const SLICE = 1_000;

/**
 * Follows merges and deletions of contacts. The fate of a contact is known at once, for facts that arrive later; a job then moves or deletes
 * the rows that are there, in slices.
 */
export const contactFates: Projection = {
  ...fatesAlone,
  async keep(transaction, events) {
    const ids = await fatesAlone.keep(transaction, events);
    jobs.add(
      transaction,
      [...new Set(ids)].map((id) => ({ key: String(id) })),
    );
    return ids;
  },
};

function setStatements({ table, columns, others = [], joined }: SetOfContact) {
  const key = columns.join(", ");
  const names = [...columns, ...others].join(", ");
  const slice = `(select contact_id, ${key} from ${table} where contact_id = $1 limit ${SLICE} for update)`;
  const taken = `delete from ${table} where (contact_id, ${key}) in ${slice} returning ${names}`;
  const conflict = joined ? `(contact_id, ${key}) do update set ${joined}` : "do nothing";
  return {
    move: prepared(
      `${table}_fate_move`,
      `with taken as (${taken}), moved as (
         insert into ${table} as t (contact_id, ${names}) select $2::integer, ${names} from taken
         on conflict ${conflict})
       select 1 as id from taken`,
    ),
    erase: prepared(`${table}_fate_erase`, taken),
  };
}

const fateStatement = prepared(
  "contact_fates_get",
  "select merged_into_id from contact_fates where contact_id = $1",
);

/** A table whose rows of a contact differ in these columns. */
export interface SetOfContact {
  table: string;
  columns: string[];
  /** Its other columns. */
  others?: string[];
  /** SQL: the changes of a row that the survivor has (`t`), by the one that is moved (`excluded`); it stays as it is when absent. */
  joined?: string;
}

/**
 * The job that moves or deletes the rows of merged and erased contacts in `tables`, each with `id` and an indexed `contact_id`, and in
 * `sets`, each with an index that begins with `contact_id`.
 */
export function contactFateJobs(
  database: Database,
  log: Log,
  tables: string[],
  sets: SetOfContact[] = [],
): JobOptions {
  const ofTables = tables.map((table) => {
    const slice = `(select id from ${table} where contact_id = $1 limit ${SLICE} for update)`;
    return {
      move: prepared(
        `${table}_fate_move`,
        `update ${table} set contact_id = $2 where contact_id = $1 and id in ${slice} returning id`,
      ),
      erase: prepared(
        `${table}_fate_erase`,
        `delete from ${table} where contact_id = $1 and id in ${slice} returning id`,
      ),
    };
  });
  const statements = [...ofTables, ...sets.map(setStatements)];
  const follow = async (transaction: Transaction, contactId: string, survivorId: string | null) => {
    let isDone = true;
    for (const { move, erase } of statements) {
      const rows = survivorId
        ? await transaction.query(move, [contactId, survivorId])
        : await transaction.query(erase, [contactId]);
      isDone &&= rows.length < SLICE;
    }
    return isDone;
  };
  return {
    database,
    log,
    jobs,
    async work(transaction, { key, payload }) {
      // The survivor may be merged or erased now: its own job begins after this transaction.
      fatesLock.shared(transaction);
      const [fate] = await transaction.query(fateStatement, [key]);
      if (!fate || (await follow(transaction, key, fate.merged_into_id ?? null))) return { state: "done" };
      return { state: "again", payload };
    },
  };
}
