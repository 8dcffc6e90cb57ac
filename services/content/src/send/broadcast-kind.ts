import type { Transaction } from "@tidings/database/transaction";
import { type Jobs, jobsOf } from "@tidings/jobs/jobs";

/** Entities that are sent to segments: where their broadcasts and sends are. */
export interface BroadcastKind {
  channel: "email" | "sms";
  /** The table of the entities, and the column of a broadcast that names one. */
  items: "emails" | "smses";
  item: "email_id" | "sms_id";
  /** The table of the sends. */
  sends: "sends" | "text_sends";
  /** SQL: does a broadcast `b` go on once all are chosen, for contacts that join the segments later? */
  follows: string;
  /** Choose recipients. A process that knows no text messages does not find their jobs. */
  jobs: Jobs;
}

export const EMAIL_BROADCASTS: BroadcastKind = {
  ...{ channel: "email", items: "emails", item: "email_id", sends: "sends" },
  follows:
    "(b.is_scheduled and exists (select from emails f where f.id = b.email_id and f.continue_sending))",
  jobs: jobsOf("broadcast"),
};
export const SMS_BROADCASTS: BroadcastKind = {
  ...{ channel: "sms", items: "smses", item: "sms_id", sends: "text_sends" },
  follows: "false",
  jobs: jobsOf("sms_broadcast"),
};

/** Lets a broadcast go on at once. */
export function wakeBroadcast({ jobs }: BroadcastKind, transaction: Transaction, id: string): void {
  jobs.add(transaction, [{ key: id }]);
}
