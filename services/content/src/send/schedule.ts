import { timestampMs } from "@bufbuild/protobuf/wkt";
import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import type { Changed } from "@tidings/resource/repository-options";
import type { Log } from "@tidings/runtime/log";
import { isOpen } from "../family/is-open.ts";
import { addBroadcast } from "./broadcast.ts";

const jobs = jobsOf("email_schedule");
const dueStatement = prepared(
  "emails_due",
  `select lists, publish_up > now() as is_early from emails e
   where id = $1 and email_type = 'list' and variant_parent_id is null and translation_parent_id is null and (${isOpen("e")} or publish_up > now())`,
);

/** Plans the sends of segment emails that are published at a time to come. A later save replaces what an earlier one planned. */
export function planSends(transaction: Transaction, changes: Changed<Email>[], now: number): void {
  const planned = changes.flatMap(({ after }) => {
    const startsAt = after?.publishUp && timestampMs(after.publishUp);
    return after?.emailType === "list" && startsAt && startsAt > now ? [{ id: after.id, startsAt }] : [];
  });
  jobs.add(
    transaction,
    planned.map(({ id, startsAt }) => ({ key: String(id), delaySeconds: (startsAt - now) / 1_000 })),
  );
}

/** Begins planned sends. Whether the email is published then, and to whom it goes, is asked when its time has come. */
export function plannedSends(database: Database, log: Log): JobOptions {
  return {
    database,
    log,
    jobs,
    async work(transaction, { key, payload }) {
      const [row] = await transaction.query(dueStatement, [key]);
      if (!row) return { state: "done" };
      // Saved with another time while this began.
      if (row.is_early === "t") return { state: "again", payload, delaySeconds: 1 };
      const segmentIds: number[] = JSON.parse(row.lists ?? "[]");
      const broadcast = { emailId: Number(key), segmentIds, recipientsMax: undefined, createdBy: null };
      if (segmentIds.length > 0) addBroadcast(transaction, broadcast);
      return { state: "done" };
    },
  };
}
