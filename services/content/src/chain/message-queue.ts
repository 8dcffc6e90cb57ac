import { type Claimed, jobQueue, type Queue } from "@tidings/jobs/queue";
import { EVERY_GROUP } from "../send/run-sends.ts";

/** An item that a marketing message sends in a channel. */
export interface ItemOfChannel {
  /** email, sms, notification, mobile_notification or tweet. */
  channel: string;
  itemId: number;
}

/** A claimed marketing message to a contact whose next channel is to be chosen. Its group is the message of the API. */
export interface MessageSend extends Claimed {
  contactId: number;
  occasion: string;
  isBulk: boolean;
  source: string;
  sourceId: number;
  /** Channels that are left, in the order of the message. */
  channels: ItemOfChannel[];
}

export const messageQueue: Queue<MessageSend> = jobQueue<MessageSend>({
  name: "send_message",
  table: "message_sends",
  where: "true",
  group: "message_id",
  due: "due_at",
  order: "due_at, id",
  columns: "contact_id, occasion, is_bulk, source, source_id, channels",
  groups: EVERY_GROUP,
  jobOf: (claimed, row) => ({
    ...claimed,
    contactId: Number(row.contact_id),
    occasion: row.occasion ?? "",
    isBulk: row.is_bulk === "t",
    source: row.source ?? "",
    sourceId: Number(row.source_id),
    channels: JSON.parse(row.channels ?? "[]"),
  }),
});
