import type { DescMessage } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import { subjectIn } from "@tidings/jobs/records";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Outbox } from "@tidings/messaging/outbox";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { notValid } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { conflict, invalid, notFound } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import { filterValues, isFiltered, type LedgerFilter } from "./ledger-filter.ts";
import { ownerOf } from "./ledger-rows.ts";
import { sendAction } from "./send-action.ts";
import { OF_MESSAGES } from "./send-tables.ts";

const SLICE = 2_000;

/** A ledger whose failed sends may be tried again. */
export interface ReplayedLedger {
  /** The kind of the jobs. */
  kind: string;
  table: string;
  /** The entities that messages are made of, the column of the ledger that names one, and their message. */
  items: string;
  item: string;
  schema: DescMessage;
  hasBroadcasts?: boolean;
  /** The columns of sends that are due again, for `publish`. */
  columns: string;
}

export interface ReplayOptions {
  database: Database;
  log: Log;
  /** Publishes that sends are due again. Nothing is published when absent. */
  publish?: (transaction: Transaction, sends: Row[]) => Promise<void>;
  /** Called once sends are due again. */
  wake(): void;
}

/** Failed sends of an entity that are to be tried again, each under its key: nobody gets a second message. */
export interface Replays {
  /** Plans it. Answers the id of the job; undefined for an unknown entity, and for one of others. */
  plan(
    transaction: Transaction,
    asked: { itemId: number; filter: LedgerFilter; ownerId: number | null },
  ): Promise<string | undefined>;
  /** Lets the sends be tried again, a slice in a transaction. */
  jobs(options: ReplayOptions): JobOptions;
}

interface Replay extends LedgerFilter {
  itemId: number;
  /** The last send that is done, and the last one that had failed at the start. */
  after: number;
  last: number;
  replayed: number;
  /** The sends that were to be tried again; left out until they are counted. */
  total?: number;
}

export function replaysOf(ledger: ReplayedLedger): Replays {
  const jobs = jobsOf(ledger.kind, { shown: { subject: ledger.schema, cancel: () => undefined } });
  const { find, record, count, replay } = statementsOf(ledger);
  return {
    async plan(transaction, { itemId, filter, ownerId }) {
      const [item] = await transaction.query(find, [itemId, ownerId]);
      if (!item) return undefined;
      const key = [itemId, ...filterValues(filter).map((value) => value ?? "any")].join(" ");
      const payload: Replay = { itemId, ...filter, after: 0, last: Number(item.last), replayed: 0 };
      jobs.add(transaction, [{ key, payload, subject: subjectIn(item) }]);
      const [row] = await transaction.query(record, [key]);
      return row?.id ?? "";
    },
    jobs: ({ database, log, publish, wake }) => ({
      database,
      log,
      jobs,
      async work(transaction, job) {
        const payload = job.payload as Replay;
        const { itemId, after, last } = payload;
        const filter = filterValues(payload);
        const total = payload.total ?? (await countedBy(transaction, count, [itemId, last, ...filter]));
        const rows = await transaction.query(replay, [itemId, after, last, ...filter]);
        const replayed = rows.filter(({ hash }) => hash !== null);
        if (replayed.length > 0) {
          await publish?.(transaction, replayed);
          transaction.afterCommit(wake);
        }
        const done = payload.replayed + replayed.length;
        const result = { sends: done };
        // Some of those that were counted may have been decided by hand meanwhile.
        if (Number(rows[0]?.size) < SLICE) return { state: "done", progress: { done, total: done, result } };
        return {
          state: "again",
          payload: { ...payload, after: Number(rows[0]?.position), replayed: done, total },
          progress: { done, total, result },
        };
      },
    }),
  };
}

async function countedBy(transaction: Transaction, count: Statement, values: unknown[]): Promise<number> {
  const [row] = await transaction.query(count, values);
  return Number(row?.count);
}

/** The request of a caller. `member` names the entity in the request; `refusal` says why nothing can leave, where nothing can. */
export interface AskedReplay {
  channel: string;
  member: string;
  itemId: number;
  filter: LedgerFilter;
  refusal: string | undefined;
}

/** Plans a replay for a caller. INVALID_ARGUMENT names the member; ABORTED where no transport is set up; NOT_FOUND for an unknown entity. */
export async function requestReplay(
  { database, outbox }: { database: Database; outbox: Outbox },
  { plan }: Replays,
  { channel, member, itemId, filter, refusal }: AskedReplay,
  call: Call,
): Promise<{ jobId: string }> {
  if (itemId === 0) throw invalid([notValid(member, "The id is required.")]);
  if (refusal !== undefined) throw conflict(refusal);
  const asked = { itemId, filter, ownerId: ownerOf(call, Verb.EDIT) };
  const jobId = await database.transaction(call.deadlineMs, async (transaction) => {
    const id = await plan(transaction, asked);
    if (id === undefined) return undefined;
    outbox.append(transaction, [sendAction(channel, itemId, "replay", { job: id, ...filter })]);
    return id;
  });
  if (jobId === undefined) throw notFound();
  return { jobId };
}

function statementsOf({ kind, table, items, item, hasBroadcasts, columns }: ReplayedLedger) {
  const recounted = hasBroadcasts
    ? ", recounted as (update broadcasts b set counts = null where b.id in (select broadcast_id from replayed))"
    : "";
  return {
    find: prepared(
      `${kind}_item`,
      `select i.id, i.name, i.created_by, coalesce((select max(id) from ${table} s where s.${item} = i.id and s.state = 'failed'), 0) as last
       from ${items} i where i.id = $1::integer and ($2::integer is null or i.created_by = $2::integer)`,
    ),
    record: prepared(
      `${kind}_record`,
      `select id from job_records where kind = '${kind}' and key = $1 order by id desc limit 1`,
    ),
    count: prepared(
      `${kind}_count`,
      `select count(*) from ${table} s where s.${item} = $1::integer and s.state = 'failed' and s.id <= $2::bigint
         and ${isFiltered(3)} and s.occasion not like '${OF_MESSAGES}%'`,
    ),
    // A slice of those that had failed: one that fails once more meanwhile is behind it. A marketing message went on to its next channel: its send stays
    // failed.
    replay: prepared(
      kind,
      `with slice as (
         select id from ${table} where ${item} = $1::integer and state = 'failed' and id > $2::bigint and id <= $3::bigint
         order by id limit ${SLICE} for update
       ), replayed as (
         update ${table} s set state = 'waiting', version = s.version + 1, lease_token = s.lease_token + 1, due_at = now(), attempts = 0,
           started_at = null, code = null, reason = null
         from slice where s.id = slice.id and s.occasion not like '${OF_MESSAGES}%' and ${isFiltered(4)}
         returning s.*
       )${recounted}
       select (select max(id) from slice) as position, (select count(*) from slice) as size, ${columns}
       from (select 1) as always left join replayed on true`,
    ),
  };
}
