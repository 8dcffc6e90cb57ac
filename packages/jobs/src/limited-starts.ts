import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { advisoryLocksById } from "@tidings/database/lock";
import { type Claimed, type JobTable, leases, stillHeld } from "./queue.ts";

/** The most jobs of a subject, such as a contact, that may take effect after a moment. */
export interface StartLimit {
  /** The subject that the job was claimed with. */
  subject: number;
  jobsMax: number;
  afterMs: number;
}

export interface LimitedStart<J extends Claimed> {
  job: J;
  limit: StartLimit;
}

/** Jobs in neither set are lost: somebody else has them, or their subject is another one now. */
export interface LimitedStarts<J extends Claimed> {
  begun: Set<J>;
  /** Their subjects have had enough. */
  limited: Set<J>;
}

interface LimitedTable {
  name: string;
  table: string;
  limited: NonNullable<JobTable<Claimed>["limited"]>;
  /** SQL: the update that starts held jobs, to which a condition may be added. */
  started: string;
}

/**
 * Starts jobs whose subjects have limits. Starts of one subject follow each other, of whatever replica: each counts what the others
 * before it have committed. Jobs without a limit take no lock and count nothing.
 */
export function limitedStarts<J extends Claimed>({ name, table, limited, started }: LimitedTable) {
  const locks = advisoryLocksById(`starts of ${table}`);
  const begin = prepared(`${name}_begin_limited`, beginText({ name, table, limited, started }));
  return (database: Database, starts: LimitedStart<J>[]): Promise<LimitedStarts<J>> => {
    const jobs = starts.map(({ job }) => job);
    const limits = starts.map(({ limit }) => limit);
    const subjects = limits.map(({ subject }) => subject);
    const values = [
      ...leases(jobs),
      subjects,
      limits.map(({ jobsMax }) => jobsMax),
      limits.map(({ afterMs }) => afterMs),
    ];
    return database.transaction(
      backgroundDeadline(),
      async (transaction) => {
        locks.exclusive(transaction, subjects);
        const rows = await transaction.query(begin, values);
        const of = (isLimited: string) =>
          stillHeld(
            jobs,
            rows.filter(({ is_limited }) => is_limited === isLimited),
          );
        return { begun: of("f"), limited: of("t") };
      },
      { byIndex: true },
    );
  };
}

/**
 * A job counts those of its subject before it in the batch, also one that turns out to be lost. Each job is looked up by its id: an index of the subject that
 * ends in the id would be read from end to end.
 */
function beginText({ table, limited: { by, tookEffectAt }, started }: LimitedTable): string {
  const isSame = by.map((column) => `s.${column} = t.${column}`).join(" and ");
  const subject = by.map((column) => `t.${column}`).join(", ");
  return `with asked as (
      select a.id, a.lease_token, row_number() over (partition by ${subject} order by a.id) + (
          select count(*) from ${table} s where ${isSame} and ${tookEffectAt} > to_timestamp(a.after_ms / 1000)
        ) > a.jobs_max as is_limited
      from unnest($1::bigint[], $2::integer[], $3::integer[], $4::integer[], $5::float8[])
        as a (id, lease_token, subject, jobs_max, after_ms)
      cross join lateral (select ${by.join(", ")} from ${table} where ${table}.id = a.id offset 0) t
      where t.${by[0]} = a.subject
    ), begun as (
      ${started} and exists (select from asked where asked.id = held.id and not asked.is_limited)
      returning ${table}.id, ${table}.lease_token
    )
    select id, lease_token, false as is_limited from begun
    union all select id, lease_token, true from asked where asked.is_limited`;
}
