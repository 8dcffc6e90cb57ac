import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";

/** A job that is ours until its lease ends. */
export interface Claimed {
  id: string;
  /** Jobs of a group share what there is with those of the others. */
  group: number;
  /** Attempts made so far. */
  attempts: number;
  /** Proves that the job is still ours when its result is recorded. */
  leaseToken: number;
  /** One job of its group is out at a time. */
  isOrdered: boolean;
  /** The latest attempt in its group failed: the group is served last, with one job at a time. */
  isFailing: boolean;
}

/** Where jobs are kept. Every SQL fragment in it is a constant of the program. */
export interface JobTable<J extends Claimed> {
  /** Unlike those of all other queues of the process. */
  name: string;
  /** With the columns `id`, `state`, `attempts`, `lease_token` and those named below. */
  table: string;
  /**
   * Which of its rows belong to the queue. Two queues over one table are two lanes: each has claims and capacity of its own, so an
   * urgent job never waits behind the backlog or the hanging attempts of the other lane.
   */
  where: string;
  group: string;
  /** When a job may be claimed: a claim moves it past the end of its lease where there is no column for that, a failure to the next attempt. */
  due: string;
  /** The end of the lease of a job that waits, null for none. No index has it: a claim leaves the indexes of the table alone. */
  lease?: string;
  /** In which order those of a group are claimed. */
  order: string;
  /** Columns that a job is made of besides. */
  columns: string;
  /**
   * The groups that are served, out of `waiting_group(id)`: `group_id`, `is_failing`, `turn` (null, ASC or DESC by id: one
   * job at a time), and what else a job is made of.
   */
  groups: string;
  jobOf(claimed: Claimed, row: Row): J;
  /** The column with the time at which an effect was begun, in tables of jobs whose effects cannot be repeated: see `jobStarts`. */
  startedAt?: string;
  /** The condition under which a row that is held may be started, asked in the transaction of the start; none when absent. */
  mayStart?: string;
  /** How the jobs of a subject are counted where starts have limits: see `StartLimit`. */
  limited?: {
    /** The column of the subject, and others in which jobs differ that do not count for each other. */
    by: [string, ...string[]];
    /** SQL: when the job `s` took effect, or may have; null of others. */
    tookEffectAt: string;
  };
}

export interface Claiming {
  /** How many more jobs of single groups are wanted. */
  shares: Map<number, number>;
  /** The same for all others. */
  size: number;
  /** The group that was the last to be served. */
  after: number;
  /** Jobs in all. */
  limit: number;
}

export interface Queue<J extends Claimed> {
  /**
   * Claims due jobs: of each group the first ones, groups that fail last and with one each, of the others those after the
   * one that was served last first, so that none waits for another's backlog. Replicas skip what others are just claiming.
   */
  claim(database: Database, claiming: Claiming): Promise<J[]>;
  /** Keeps jobs for another lease. Answers those that are still ours: not one that we have claimed again since. */
  renew(database: Database, held: J[]): Promise<Set<J>>;
  /** Gives jobs back that were not attempted. */
  release(database: Database, held: Claimed[]): Promise<void>;
  /** Milliseconds until the next job may be claimed, negative when one may be; undefined when none waits. */
  untilDue(database: Database): Promise<number | undefined>;
  /** How many jobs wait, of all groups, and how many of them will still wait after a lease; each is counted to `max`. */
  countWaiting(database: Database, max: number): Promise<{ waiting: number; putOff: number }>;
}

export const LEASE_MS = 30_000;
/** The same as SQL. */
export const LEASE = `interval '${LEASE_MS} milliseconds'`;

/**
 * The condition "waits" for a row that is looked up by its id. Written so that no partial index matches it: an index that ends in
 * the id would be read from end to end, and costs the same as the primary key while a table is small.
 */
export function isWaiting(state = "state"): string {
  return `lower(${state}) = 'waiting'`;
}

/** The condition "a worker may hold it": likewise. */
function isHeld<J extends Claimed>({ table, startedAt }: JobTable<J>): string {
  return startedAt ? `lower(${table}.state) in ('waiting', 'started')` : isWaiting();
}

/** The queue of a table of jobs. The database's clock is the only one that counts. */
export function jobQueue<J extends Claimed>(definition: JobTable<J>): Queue<J> {
  const { claim, renew, release, due, waiting } = statements(definition);
  return {
    async claim(database, { shares, size, after, limit }) {
      const values = [[...shares.keys()], [...shares.values()], size, after, limit];
      const rows = await queryByIndex(database, claim, values);
      return rows.map((row) => definition.jobOf(claimedOf(row), row));
    },
    async renew(database, held) {
      return stillHeld(held, await queryByIndex(database, renew, leases(held)));
    },
    async release(database, held) {
      if (held.length > 0) await queryByIndex(database, release, leases(held));
    },
    async untilDue(database) {
      const [row] = await queryByIndex(database, due, []);
      return row?.seconds ? Number(row.seconds) * 1_000 : undefined;
    },
    async countWaiting(database, max) {
      const [row] = await queryByIndex(database, waiting, [max]);
      return { waiting: Number(row?.waiting), putOff: Number(row?.put_off) };
    },
  };
}

/** The jobs whose id and token a statement returned. */
export function stillHeld<C extends Claimed>(held: C[], rows: Row[]): Set<C> {
  const leased = new Set(rows.map(({ id, lease_token }) => `${id} ${lease_token}`));
  return new Set(held.filter(({ id, leaseToken }) => leased.has(`${id} ${leaseToken}`)));
}

/** Ids and tokens of jobs, as statements take them. */
export function leases(held: Claimed[]): [string[], number[]] {
  return [held.map(({ id }) => id), held.map(({ leaseToken }) => leaseToken)];
}

function claimedOf(row: Row): Claimed {
  return {
    id: row.id ?? "",
    group: Number(row.group_id),
    attempts: Number(row.attempts),
    leaseToken: Number(row.lease_token),
    isOrdered: row.turn !== null,
    isFailing: row.is_failing === "t",
  };
}

/** The condition "nobody has it", for rows that are due. */
function isFree<J extends Claimed>({ lease }: JobTable<J>): string {
  return lease ? `coalesce(${lease} <= now(), true)` : "true";
}

/** A claim finds the groups that have waiting jobs, orders them fairly, and takes the first due jobs of each. */
function claimText<J extends Claimed>(definition: JobTable<J>): string {
  const { table, group, due, lease = due, order, columns } = definition;
  const waiting = waitingIn(definition);
  const isDue = `${due} <= now() and ${isFree(definition)}`;
  const leasedUntil = lease === due ? due : `greatest(${due}, ${lease})`;
  const first = (direction: string) =>
    `select id from ${table} where ${group} = c.group_id and ${waiting} order by id ${direction} limit 1`;
  return `${servedGroups(definition)}, candidate as (
         select served.*, least(coalesce(share.size, $3::integer), case when is_failing then 1 end) as size
         from served left join unnest($1::integer[], $2::integer[]) as share(group_id, size)
           on share.group_id = served.group_id
         where coalesce(share.size, 1) > 0
       ), due as materialized (
         select row_number() over () as position, d.id, c.*
         from (select * from candidate order by is_failing, group_id <= $4::integer, group_id) c
         cross join lateral (
           select id from (
             select id from ${table}
             where ${group} = c.group_id and ${waiting} and ${isDue} and c.turn is null
             order by ${order} limit c.size for update skip locked) as unordered
           union all
           select id from (
             select id from ${table} where id = (${first("asc")}) and ${isWaiting()} and ${isDue} and c.turn = 'ASC'
             for update skip locked) as ascending
           union all
           select id from (
             select id from ${table} where id = (${first("desc")}) and ${isWaiting()} and ${isDue} and c.turn = 'DESC'
               and (select max(${leasedUntil}) from ${table} where ${group} = c.group_id and ${waiting}) <= now()
             for update skip locked) as descending
         ) d
         limit $5::integer
       ), claimed as (
         update ${table} set ${lease} = now() + ${LEASE}, lease_token = lease_token + 1
         from due where ${table}.id = due.id
         returning due.*, attempts, lease_token, ${columns}
       )
       select * from claimed order by position`;
}

function waitingIn<J extends Claimed>({ where }: JobTable<J>): string {
  return `${where} and state = 'waiting'`;
}

/** A skip scan: one index look-up for each group. */
function servedGroups<J extends Claimed>(definition: JobTable<J>): string {
  const { table, group, groups } = definition;
  const waiting = waitingIn(definition);
  return `with recursive waiting_group(id) as (
     (select ${group} from ${table} where ${waiting} order by ${group} limit 1)
     union all
     select (select ${group} from ${table} where ${waiting} and ${group} > waiting_group.id order by ${group} limit 1)
     from waiting_group where waiting_group.id is not null
   ), served as (${groups})`;
}

/** The rows that a worker says it holds, as far as its lease tokens are the latest. */
export function heldRows(table: string, state: string): string {
  return `from unnest($1::bigint[], $2::integer[]) as held(id, lease_token)
     where ${table}.id = held.id and ${table}.lease_token = held.lease_token and ${state}`;
}

function statements<J extends Claimed>(definition: JobTable<J>) {
  const { name, table, group, due, lease, startedAt } = definition;
  const held = heldRows(table, isHeld(definition));
  const end = `now() + ${LEASE}`;
  // The due time of a started job is the end of its lease in any table.
  const renewed = lease
    ? `${lease} = ${end}, ${due} = case when lower(${table}.state) = 'started' then ${end} else ${due} end`
    : `${due} = ${end}`;
  const returned = [
    `${due} = least(${due}, now())`,
    ...(lease ? [`${lease} = null`] : []),
    ...(startedAt ? ["state = 'waiting'", `${startedAt} = null`] : []),
  ].join(", ");
  return {
    claim: prepared(`${name}_claim`, claimText(definition)),
    renew: prepared(
      `${name}_renew`,
      `update ${table} set ${renewed} ${held} returning ${table}.id, ${table}.lease_token`,
    ),
    release: prepared(`${name}_release`, `update ${table} set ${returned} ${held}`),
    due: prepared(
      `${name}_due`,
      `${servedGroups(definition)}
       select extract(epoch from min(next.due) - now()) as seconds from served
       cross join lateral (
         select min(${due}) as due from ${table} where ${group} = served.group_id and ${waitingIn(definition)} and ${isFree(definition)}) next`,
    ),
    // The orders are those of the index of due jobs, so that no other index is read.
    waiting: prepared(
      `${name}_waiting`,
      `${servedGroups(definition)}
       select
         (select count(*) from (select from ${table} where ${waitingIn(definition)} order by ${group}, ${due} limit $1) as w) as waiting,
         (select count(*) from (select from waiting_group g cross join lateral (
            select from ${table} where ${group} = g.id and ${waitingIn(definition)} and ${due} > now() + ${LEASE}
            order by ${due} limit $1) as later limit $1) as p) as put_off`,
    ),
  };
}
