import type { Claimed } from "@tidings/jobs/queue";
import { EVERY_GROUP, laneOf } from "../send/run-sends.ts";

/** A claimed text message. Its group is the text message of the API that it was made of. */
export interface TextSend extends Claimed {
  smsId: number;
  contactId: number;
  content: string;
}

export const textLane = laneOf<TextSend>({
  name: "send_text",
  table: "text_sends",
  where: "true",
  group: "sms_id",
  due: "due_at",
  order: "due_at, id",
  columns: "sms_id, contact_id, content",
  groups: EVERY_GROUP,
  jobOf: (claimed, row) => ({
    ...claimed,
    smsId: Number(row.sms_id),
    contactId: Number(row.contact_id),
    content: row.content ?? "",
  }),
  startedAt: "started_at",
});
