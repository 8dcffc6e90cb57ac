import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { type Jobs, jobsOf } from "@tidings/jobs/jobs";
import { subjectIn } from "@tidings/jobs/records";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { progressReader } from "./broadcast-progress.ts";

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

const EMAILS = { channel: "email", items: "emails", item: "email_id", sends: "sends" } as const;
const SMSES = { channel: "sms", items: "smses", item: "sms_id", sends: "text_sends" } as const;

export const EMAIL_BROADCASTS: BroadcastKind = {
  ...EMAILS,
  follows:
    "(b.is_scheduled and exists (select from emails f where f.id = b.email_id and f.continue_sending))",
  jobs: jobsOf("broadcast", {
    shown: {
      subject: EmailSchema,
      progress: progressReader(EMAILS),
      isEndedByWorker: true,
      cancel: (transaction, id) => cancelBroadcast(EMAIL_BROADCASTS, transaction, id),
    },
  }),
};
export const SMS_BROADCASTS: BroadcastKind = {
  ...SMSES,
  follows: "false",
  jobs: jobsOf("sms_broadcast", {
    shown: {
      subject: SmsSchema,
      progress: progressReader(SMSES),
      isEndedByWorker: true,
      cancel: (transaction, id) => cancelBroadcast(SMS_BROADCASTS, transaction, id),
    },
  }),
};

const itemStatementOf = ({ items }: Pick<BroadcastKind, "items">) =>
  prepared(`broadcasts_item_${items}`, `select id, name, created_by from ${items} where id = $1::integer`);
const ITEM_STATEMENTS = { email: itemStatementOf(EMAILS), sms: itemStatementOf(SMSES) };

const cancelStatement = prepared(
  "broadcasts_cancel",
  `update broadcasts set is_paused = false, state = 'cancelling'
   where id = $1::uuid and finished_at is null and state <> 'cancelling'`,
);

/** Lets a new broadcast of an entity begin. */
export async function beginBroadcast(
  { channel, jobs }: BroadcastKind,
  transaction: Transaction,
  { id, itemId }: { id: string; itemId: number },
): Promise<void> {
  const [item] = await transaction.query(ITEM_STATEMENTS[channel], [itemId]);
  if (item) jobs.add(transaction, [{ key: id, subject: subjectIn(item) }]);
}

/** Lets a broadcast go on at once. Its record stays as it is. */
export function wakeBroadcast({ jobs }: BroadcastKind, transaction: Transaction, id: string): void {
  jobs.add(transaction, [{ key: id }]);
}

/** Its job takes back the sends that have not begun. */
function cancelBroadcast(kind: BroadcastKind, transaction: Transaction, id: string): void {
  transaction.execute(cancelStatement, [id]);
  wakeBroadcast(kind, transaction, id);
}
