import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Job } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import type { BroadcastKind } from "./broadcast-kind.ts";
import { COUNTS, progressOf } from "./broadcast-progress.ts";
import { type Slice, sliceReader } from "./broadcast-slices.ts";
import type { Choosing, RecipientChoice } from "./recipient-choice.ts";

export interface BroadcastOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  upstreams: Upstreams;
  /** Called once sends were chosen. */
  wake(): void;
}

/** SQL: the position of a broadcast `b` before its first contact. */
export const FIRST_POSITION = "coalesce(b.min_contact_id, 1) - 1";
const advanceStatement = prepared(
  "broadcasts_advance",
  "update broadcasts set position = $2, chosen = chosen + $3, offered = offered + $4, state = $5 where id = $1::uuid",
);
/** A pass from the beginning chooses contacts that joined since. */
const anewStatement = prepared(
  "broadcasts_choose_anew",
  `update broadcasts b set position = ${FIRST_POSITION}, state = 'choosing' where id = $1::uuid`,
);
const statementsOf = (kind: BroadcastKind) => ({
  cancel: prepared(
    `${kind.sends}_cancel`,
    `update ${kind.sends} set state = 'cancelled', reason = coalesce($3, reason), lease_token = lease_token + 1, version = version + 1
     where id = any (array(select id from ${kind.sends} where broadcast_id = $1::uuid and state = 'waiting' limit $2 for update skip locked))
     returning id`,
  ),
  finish: prepared(
    `broadcasts_finish_${kind.sends}`,
    `update broadcasts set state = case state when 'cancelling' then 'cancelled' else 'finished' end, finished_at = now(), counts = ${COUNTS(kind, "$1::uuid")}
     where id = $1::uuid and state = any (array['sending', 'cancelling']) and not exists (
       select from ${kind.sends} where broadcast_id = $1::uuid and state = any (array['waiting', 'started']))
     returning state, chosen, counts::text as sends`,
  ),
});

/** States with something to do here. Any other is left as it is: that of a later version, during an update, is known to its processes. */
const DONE_HERE = new Set(["choosing", "sending", "cancelling"]);
/** Why a send was cancelled whose entity is published no more. */
const UNPUBLISHED = "unpublished";
const AT_ONCE = 4;
const CANCELLED_AT_ONCE = 2_000;
/** Until somebody looks whether all sends are decided. */
const LOOK_SECONDS = 2;
/** Until somebody looks who joined the segments. */
const FOLLOW_SECONDS = 60;
/** Until somebody looks whether an email whose test goes on is still published. */
const TEST_LOOK_SECONDS = 60;

/** Chooses the recipients of broadcasts, a slice in a transaction, and ends broadcasts whose sends are decided. */
export function broadcastRunner<R>(
  { database, log, upstreams, wake }: BroadcastOptions,
  kind: BroadcastKind,
  choice: RecipientChoice<R>,
): JobOptions {
  const { cancel, finish } = statementsOf(kind);
  const readNext = sliceReader(upstreams, kind, choice);
  const readSlice = async (job: Job): Promise<Job> => {
    const [row] = await database.query(choice.readStatement, [job.key], backgroundDeadline());
    if (row?.state !== "choosing" || row.is_paused === "t") return job;
    const slice = await readNext(job.key, row);
    return { ...job, payload: { ...job.payload, after: Number(row.position), slice } };
  };
  return {
    database,
    log,
    jobs: kind.jobs,
    atOnce: AT_ONCE,
    byIndex: true,
    prepare: readSlice,
    async work(transaction, { key, payload }) {
      const [row] = await transaction.query(choice.holdStatement, [key]);
      if (!row || row.finished_at) return { state: "done" };
      const { slice, after, ...rest } = payload as { slice?: Slice<R>; after?: number };
      const again = (delaySeconds: number): Outcome => ({ state: "again", payload: rest, delaySeconds });
      // Sends that have not begun end with the publication (engines.md 11), also while the broadcast is paused.
      const isClosed = row.is_closed === "t";
      if (row.state === "cancelling" || isClosed) {
        const reason = row.state === "cancelling" ? null : UNPUBLISHED;
        const cancelled = await transaction.query(cancel, [key, CANCELLED_AT_ONCE, reason]);
        if (cancelled.length === CANCELLED_AT_ONCE) return again(0);
      }
      if (row.is_paused === "t" && row.state !== "cancelling") return again(LOOK_SECONDS);
      // The decision wakes it, or a cancel.
      if (row.state === "testing") return again(TEST_LOOK_SECONDS);
      if (!DONE_HERE.has(row.state ?? "")) return again(LOOK_SECONDS);
      if (row.state === "choosing") {
        // The broadcast was paused, or moved on, while its slice was read.
        if (!slice || after !== Number(row.position)) return again(0);
        const choosing = { transaction, id: key, row };
        const { chosen, isFull } = isClosed
          ? { chosen: 0, isFull: true }
          : await choice.choose(choosing, slice.fresh);
        const isOver = isFull || slice.next === 0;
        advance(choosing, slice, chosen, isOver);
        transaction.afterCommit(wake);
        if (!isOver) return again(0);
        if (!isClosed && choice.putOff?.(choosing)) return again(TEST_LOOK_SECONDS);
      }
      if (row.follows === "t" && !isClosed && row.state !== "cancelling") {
        if (row.state === "choosing") return again(FOLLOW_SECONDS);
        transaction.execute(anewStatement, [key]);
        return again(0);
      }
      const [finished] = await transaction.query(finish, [key]);
      if (!finished) return again(LOOK_SECONDS);
      return { state: "done", progress: progressOf(finished), isCancelled: finished.state === "cancelled" };
    },
  };
}

/** Moves a broadcast behind a slice, of which so many recipients were chosen. */
function advance<R>(
  { transaction, id }: Choosing,
  { next, fresh }: Slice<R>,
  chosen: number,
  isOver: boolean,
) {
  const state = isOver ? "sending" : "choosing";
  transaction.execute(advanceStatement, [id, next, chosen, fresh.length, state]);
}

/** The most recipients of a broadcast. */
export function mostOf({ recipients_max: most }: Row): number {
  return most == null ? Number.POSITIVE_INFINITY : Number(most);
}
