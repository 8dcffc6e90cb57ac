import type { Claimed } from "@tidings/jobs/queue";
import { EVERY_GROUP, laneOf, type SendLane } from "../send/run-sends.ts";
import { SMS, type TextChannel } from "./text-channel.ts";

/** A claimed message. Its group is the entity that it was made of. */
export interface TextSend extends Claimed {
  itemId: number;
  contactId: number;
  content: string;
}

function laneOfChannel(name: string, { table, item }: TextChannel): SendLane<TextSend> {
  return laneOf<TextSend>({
    name,
    table,
    where: "true",
    group: item,
    due: "due_at",
    order: "due_at, id",
    columns: `${item}, contact_id, content`,
    groups: EVERY_GROUP,
    jobOf: (claimed, row) => ({
      ...claimed,
      itemId: Number(row[item]),
      contactId: Number(row.contact_id),
      content: row.content ?? "",
    }),
    startedAt: "started_at",
  });
}

export const smsLane = laneOfChannel("send_text", SMS);
