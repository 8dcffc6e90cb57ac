import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import type { Sms } from "@tidings/proto/tidings/content/v1/sms";
import type { Changed } from "@tidings/resource/repository-options";
import type { Log } from "@tidings/runtime/log";
import { isOpen } from "../family/is-open.ts";

/** Entities that are sent to their segments when they are published. */
interface Planned {
  table: "emails" | "smses";
  /** The kind of the jobs. */
  kind: string;
  /** SQL: is the entity `e` one that goes to segments by itself? */
  isOfSegments: string;
}

interface Publishable {
  id: number;
  isPublished?: boolean | undefined;
  publishUp?: Timestamp | undefined;
  publishDown?: Timestamp | undefined;
  continueSending?: boolean | undefined;
}

/** Plans sends of entities that have a time, and begins them. */
export interface Schedule<T> {
  /**
   * Plans the sends of entities at their `publishUp` (engines.md 11), at once where that is past when they are published. A later save replaces what an earlier one
   * planned; one of an entity that was published already begins nothing.
   */
  plan(transaction: Transaction, changes: Changed<T>[], now: number): void;
  /** Whether the entity is published, and to whom it goes, is asked when its time has come. */
  jobs(
    database: Database,
    log: Log,
    begin: (transaction: Transaction, id: number, segmentIds: number[]) => Promise<unknown>,
  ): JobOptions;
}

function schedule<T extends Publishable>(
  { table, kind, isOfSegments }: Planned,
  goesToSegments: (entity: T) => boolean,
): Schedule<T> {
  const jobs = jobsOf(kind);
  const dueStatement = prepared(
    `${table}_due`,
    `select lists, publish_up > now() as is_early from ${table} e
     where id = $1 and ${isOfSegments} and (${isOpen("e")} or publish_up > now())`,
  );
  return {
    plan(transaction, changes, now) {
      const planned = changes.flatMap(({ before, after }) => {
        const startsAt = after?.publishUp && timestampMs(after.publishUp);
        if (!after || !startsAt || !goesToSegments(after)) return [];
        if (startsAt > now) return [{ id: after.id, startsAt }];
        const wasDue = before && goesToSegments(before) && isDue(before, now) && !isContinued(before, after);
        return isDue(after, now) && !wasDue ? [{ id: after.id, startsAt: now }] : [];
      });
      jobs.add(
        transaction,
        planned.map(({ id, startsAt }) => ({ key: String(id), delaySeconds: (startsAt - now) / 1_000 })),
      );
    },
    jobs: (database, log, begin) => ({
      database,
      log,
      jobs,
      async work(transaction, { key, payload }) {
        const [row] = await transaction.query(dueStatement, [key]);
        if (!row) return { state: "done" };
        // Saved with another time while this began.
        if (row.is_early === "t") return { state: "again", payload, delaySeconds: 1 };
        const segmentIds: number[] = JSON.parse(row.lists ?? "[]");
        if (segmentIds.length > 0) await begin(transaction, Number(key), segmentIds);
        return { state: "done" };
      },
    }),
  };
}

/** Is it published, and is its time past? */
function isDue({ isPublished, publishUp, publishDown }: Publishable, now: number): boolean {
  return (
    isPublished === true &&
    publishUp !== undefined &&
    timestampMs(publishUp) <= now &&
    (publishDown === undefined || timestampMs(publishDown) > now)
  );
}

/** Does it follow contacts from now on, which it did not before? */
function isContinued(before: Publishable, after: Publishable): boolean {
  return after.continueSending === true && before.continueSending !== true;
}

export const EMAIL_SCHEDULE = schedule<Email>(
  {
    ...{ table: "emails", kind: "email_schedule" },
    isOfSegments: "email_type = 'list' and variant_parent_id is null and translation_parent_id is null",
  },
  ({ emailType }) => emailType === "list",
);
export const SMS_SCHEDULE = schedule<Sms>(
  { table: "smses", kind: "sms_schedule", isOfSegments: "sms_type = 'list'" },
  ({ smsType }) => smsType === "list",
);
