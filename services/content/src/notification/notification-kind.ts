import { NotificationSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import { NotificationSchema } from "@tidings/proto/tidings/content/v1/notification";
import type { TextChannel } from "../text/text-channel.ts";
import { itemMembers, textFacts, textMembers } from "../text/text-facts.ts";
import { textKind } from "../text/text-kind.ts";
import { factReader } from "../visit/fact-kind.ts";
import { readContent } from "./notification-content.ts";

const NOTIFICATION: TextChannel = {
  ...{ name: "notification", one: "notification", plural: "notifications", table: "notification_sends" },
  ...{ items: "notifications", item: "notification_id", copied: { is_mobile: "coalesce(i.mobile, false)" } },
  countedApart: ["is_mobile"],
  published: [
    "provider_id",
    "is_clicked",
    "date_read",
    "date_clicked",
    "last_clicked",
    "click_count",
    "click_details",
    "ip",
  ],
};

export const NOTIFICATION_FACTS = textFacts({
  channel: NOTIFICATION,
  schema: NotificationSendsSchema,
  itemColumns: ["mobile"],
  messageOf: (sends, items) => ({
    sends: sends.map((row) => {
      const { flag, number, time } = factReader(row);
      const [dateRead, dateClicked, lastClicked] = ["date_read", "date_clicked", "last_clicked"].map(time);
      return {
        ...textMembers(row),
        ...readContent(row.content ?? ""),
        notificationId: number("notification_id"),
        isMobile: flag("is_mobile"),
        providerId: row.provider_id ?? "",
        isClicked: flag("is_clicked"),
        ...(dateRead && { dateRead }),
        ...(dateClicked && { dateClicked }),
        ...(lastClicked && { lastClicked }),
        clickCount: number("click_count"),
        clickDetails: Buffer.from(row.click_details ?? "[]"),
        ip: row.ip ?? "",
      };
    }),
    notifications: items.map((row) => ({ ...itemMembers(row), mobile: row.mobile === "t" })),
  }),
});

export const NOTIFICATION_KIND = textKind({
  facts: NOTIFICATION_FACTS,
  lane: "send_notification",
  written: ["heading", "message", "url", "button", "utm_tags", "language", "mobile"],
  schema: NotificationSchema,
});
