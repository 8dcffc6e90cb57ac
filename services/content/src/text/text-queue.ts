import { type Claimed, type JobTable, jobQueue } from "@tidings/jobs/queue";
import { jobStarts } from "@tidings/jobs/starts";
import type { SendLane } from "../send/run-sends.ts";

/** A claimed text message. Its group is the text message of the API that it was made of. */
export interface TextSend extends Claimed {
  smsId: number;
  contactId: number;
  content: string;
}

const table: JobTable<TextSend> & { startedAt: string } = {
  name: "send_text",
  table: "text_sends",
  where: "true",
  group: "sms_id",
  due: "due_at",
  order: "due_at, id",
  columns: "sms_id, contact_id, content",
  groups:
    "select id as group_id, false as is_failing, null::text as turn from waiting_group where id is not null",
  jobOf: (claimed, row) => ({
    ...claimed,
    smsId: Number(row.sms_id),
    contactId: Number(row.contact_id),
    content: row.content ?? "",
  }),
  startedAt: "started_at",
};

export const textLane: SendLane<TextSend> = {
  name: table.name,
  queue: jobQueue(table),
  starts: jobStarts(table),
};
