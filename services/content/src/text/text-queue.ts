import type { Claimed } from "@tidings/jobs/queue";
import { EVERY_GROUP, laneOf, type SendLane } from "../send/run-sends.ts";
import type { TextChannel } from "./text-channel.ts";

/** A claimed message. Its group is the entity that it was made of. */
export interface TextSend extends Claimed {
  hash: string;
  itemId: number;
  contactId: number;
  content: string;
  /** A notification to an app instead of a browser. */
  isMobile: boolean;
}

export function textLane(name: string, { table, item, copied }: TextChannel): SendLane<TextSend> {
  return laneOf<TextSend>({
    name,
    table,
    where: "true",
    group: item,
    due: "due_at",
    order: "due_at, id",
    columns: ["hash", item, "contact_id", "content", ...Object.keys(copied)].join(", "),
    groups: EVERY_GROUP,
    jobOf: (claimed, row) => ({
      ...claimed,
      hash: row.hash ?? "",
      itemId: Number(row[item]),
      contactId: Number(row.contact_id),
      content: row.content ?? "",
      isMobile: row.is_mobile === "t",
    }),
    startedAt: "started_at",
  });
}
