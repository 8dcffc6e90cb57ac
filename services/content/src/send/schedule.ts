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
  publishUp?: Timestamp | undefined;
}

/** Plans sends at a time to come, and begins them. */
export interface Schedule<T> {
  /** Plans the sends of entities that are published at a time to come. A later save replaces what an earlier one planned. */
  plan(transaction: Transaction, changes: Changed<T>[], now: number): void;
  /** Whether the entity is published, and to whom it goes, is asked when its time has come. */
  jobs(
    database: Database,
    log: Log,
    begin: (transaction: Transaction, id: number, segmentIds: number[]) => void,
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
      const planned = changes.flatMap(({ after }) => {
        const startsAt = after?.publishUp && timestampMs(after.publishUp);
        return after && goesToSegments(after) && startsAt && startsAt > now
          ? [{ id: after.id, startsAt }]
          : [];
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
        if (segmentIds.length > 0) begin(transaction, Number(key), segmentIds);
        return { state: "done" };
      },
    }),
  };
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
