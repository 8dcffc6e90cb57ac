import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { type Job, jobsOf } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Outbox } from "@tidings/messaging/outbox";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import { serviceActor } from "@tidings/rpc/actor";
import type { Log } from "@tidings/runtime/log";
import type { Upstreams } from "@tidings/service/upstreams";
import { v7 } from "uuid";
import { isOpen } from "../family/is-open.ts";
import { chooseRecipients, chosenBehind, type Recipient, standingOf } from "./choose-recipients.ts";
import { FAMILY_OF } from "./email-family.ts";
import { planDecision } from "./plan-decision.ts";
import { COUNTS } from "./read-broadcast.ts";
import { shareOf, testShare } from "./test-share.ts";

/** A send of an email to segments. */
export interface NewBroadcast {
  emailId: number;
  segmentIds: number[];
  /** No more recipients than these; all when undefined. */
  recipientsMax: number | undefined;
  createdBy: number | null;
  /** Sends to a share of the recipients first, and hours later to the rest, which gets the winner of the test. */
  test?: { winnerAfterHours: number; percent: number } | undefined;
}

const addStatement = prepared(
  "broadcasts_add",
  `insert into broadcasts (id, email_id, family_id, list_ids, recipients_max, created_by, winner_after_hours, test_share, is_of_root)
   select $1::uuid, e.id, ${FAMILY_OF}, $3::integer[], $4::integer, $5::integer, $6::smallint, $7::smallint, e.variant_parent_id is null from emails e where e.id = $2::integer`,
);
const readStatement = prepared(
  "broadcasts_read",
  `select b.state, b.is_paused, b.position, b.email_id, b.family_id, array_to_json(b.list_ids) as lists, e.excluded_lists
   from broadcasts b left join emails e on e.id = b.email_id where b.id = $1::uuid`,
);
/** The recipients left get the winner, once there is one. A send of a whole family goes on with its root: somebody may make a winner by hand. */
const holdStatement = prepared(
  "broadcasts_hold",
  `select b.*, t.id as target_id, exists (select from emails e where e.id = t.id and ${isOpen("e")}) as is_open
   from broadcasts b left join emails e on e.id = b.email_id
   cross join lateral (
     select coalesce(b.winner_id, case when b.is_of_root and ${FAMILY_OF} = b.family_id then e.variant_parent_id end, b.email_id) as id) t
   where b.id = $1::uuid for update of b`,
);
const advanceStatement = prepared(
  "broadcasts_advance",
  "update broadcasts set position = $2, chosen = chosen + $3, offered = offered + $4, state = $5 where id = $1::uuid",
);
const testStatement = prepared(
  "broadcasts_test",
  `update broadcasts set position = 0, state = 'testing', decides_at = now() + make_interval(hours => winner_after_hours) where id = $1::uuid`,
);
const cancelStatement = prepared(
  "sends_cancel",
  `update sends set state = 'cancelled', lease_token = lease_token + 1, version = version + 1
   where id = any (array(select id from sends where broadcast_id = $1::uuid and state = 'waiting' limit $2 for update skip locked))
   returning id`,
);
const finishStatement = prepared(
  "broadcasts_finish",
  `update broadcasts set state = case state when 'cancelling' then 'cancelled' else 'finished' end, finished_at = now(), counts = ${COUNTS("$1::uuid")}
   where id = $1::uuid and state = any (array['sending', 'cancelling']) and not exists (
     select from sends where broadcast_id = $1::uuid and state = any (array['waiting', 'started']))
   returning id`,
);

/** States with something to do here. Any other is left as it is: that of a later version, during an update, is known to its processes. */
const DONE_HERE = new Set(["choosing", "sending", "cancelling"]);
const jobs = jobsOf("broadcast");
const AT_ONCE = 4;
const SLICE = 2_000;
/** Slices that are read in one turn while all their members have a mail already. */
const SLICES_MAX = 50;
/** Until somebody looks whether all sends are decided. */
const LOOK_SECONDS = 2;
const ALL = 2 ** 31 - 1;
const actor = serviceActor("Sends");

/** Begins to send an email to segments. Its id is that of the broadcast. */
export function addBroadcast(
  transaction: Transaction,
  { emailId, segmentIds, recipientsMax, createdBy, test }: NewBroadcast,
): string {
  const id = v7();
  transaction.execute(addStatement, [
    ...[id, emailId, segmentIds, recipientsMax ?? null, createdBy],
    ...[test?.winnerAfterHours ?? null, test?.percent ?? null],
  ]);
  wakeBroadcast(transaction, id);
  return id;
}

/** Lets a broadcast go on at once. */
export function wakeBroadcast(transaction: Transaction, id: string): void {
  jobs.add(transaction, [{ key: id }]);
}

export interface BroadcastOptions {
  database: Database;
  outbox: Outbox;
  log: Log;
  upstreams: Upstreams;
  /** Called once sends were chosen. */
  wake(): void;
}

interface Segments {
  segmentIds: number[];
  excludedSegmentIds: number[];
}

interface Slice {
  fresh: Recipient[];
  /** The contact behind which the next one begins; 0 at the end. */
  next: number;
}

/** Chooses the recipients of broadcasts, a slice in a transaction, and ends broadcasts whose sends are decided. */
export function broadcastJobs({ database, outbox, log, upstreams, wake }: BroadcastOptions): JobOptions {
  const contacts = upstreams.client("contact", ContactCommandService);
  const readSlice = async (job: Job): Promise<Job> => {
    const [row] = await database.query(readStatement, [job.key], backgroundDeadline());
    if (row?.state !== "choosing" || row.is_paused === "t") return job;
    const segments = {
      segmentIds: idsIn(row.lists),
      excludedSegmentIds: idsIn(row.excluded_lists),
    };
    const sent = { familyId: Number(row.family_id), emailId: Number(row.email_id) };
    const slice = await nextSlice(segments, sent, Number(row.position));
    return { ...job, payload: { ...job.payload, after: Number(row.position), slice } };
  };
  /** The next recipients who have no mail of the family, and hear of the category of the email. Those that were chosen already are not even read. */
  const nextSlice = async (
    segments: Segments,
    sent: { familyId: number; emailId: number },
    position: number,
  ): Promise<Slice> => {
    const deadlineMs = backgroundDeadline();
    for (let after = position, slices = 1; ; slices++) {
      const chosen = await chosenBehind(database, { familyId: sent.familyId, after }, deadlineMs);
      const { recipients, next } = await contacts.listRecipients(
        { ...segments, ...chosen, after, pageSize: SLICE },
        { actor, deadlineMs, requestId: "" },
      );
      const { fresh } = await standingOf(database, sent, recipients, deadlineMs);
      if (fresh.length > 0 || next === 0 || slices === SLICES_MAX) return { fresh, next };
      after = next;
    }
  };
  return {
    database,
    log,
    jobs,
    atOnce: AT_ONCE,
    prepare: readSlice,
    async work(transaction, { key, payload }) {
      const [row] = await transaction.query(holdStatement, [key]);
      if (!row || row.finished_at) return { state: "done" };
      const { slice, after, ...rest } = payload as { slice?: Slice; after?: number };
      const again = (delaySeconds: number): Outcome => ({ state: "again", payload: rest, delaySeconds });
      if (row.state === "cancelling") {
        const cancelled = await transaction.query(cancelStatement, [key, SLICE]);
        if (cancelled.length === SLICE) return again(0);
      }
      if (row.is_paused === "t" && row.state !== "cancelling") return again(LOOK_SECONDS);
      // The decision wakes it, or a cancel.
      if (row.state === "testing") return { state: "done" };
      if (!DONE_HERE.has(row.state ?? "")) return again(LOOK_SECONDS);
      if (row.state === "choosing") {
        // The broadcast was paused, or moved on, while its slice was read.
        if (!slice || after !== Number(row.position)) return again(0);
        const isClosed = row.is_open !== "t";
        const { test, left } = shareLeft(row);
        const choosing = {
          ...{ transaction, outbox, now: database.now(), broadcastId: key, familyId: Number(row.family_id) },
          emailId: Number(row.target_id),
          isDecided: row.winner_id !== null,
        };
        const offered = test ? testShare(slice.fresh, test) : slice.fresh;
        const chosen = isClosed ? 0 : await chooseRecipients(choosing, offered, left);
        const isOver = isClosed || slice.next === 0 || chosen >= left;
        const state = isOver ? "sending" : "choosing";
        transaction.execute(advanceStatement, [key, slice.next, chosen, slice.fresh.length, state]);
        transaction.afterCommit(wake);
        if (!isOver) return again(0);
        if (test && !isClosed) {
          transaction.execute(testStatement, [key]);
          planDecision(transaction, key, Number(row.winner_after_hours));
          return { state: "done" };
        }
      }
      const finished = await transaction.query(finishStatement, [key]);
      return finished.length > 0 ? { state: "done" } : again(LOOK_SECONDS);
    },
  };
}

/** How many recipients may still be chosen, and the test that they take part in, while it goes on. */
function shareLeft(row: Row): { test?: { offered: number; percent: number }; left: number } {
  const most = row.recipients_max === null ? ALL : Number(row.recipients_max);
  if (row.winner_after_hours === null || row.decides_at !== null) return { left: most - Number(row.chosen) };
  const percent = Number(row.test_share);
  return {
    test: { offered: Number(row.offered), percent },
    left: shareOf(most, percent) - Number(row.chosen),
  };
}

function idsIn(json: string | null | undefined): number[] {
  return JSON.parse(json ?? "[]");
}
