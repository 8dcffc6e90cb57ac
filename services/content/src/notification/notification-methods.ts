import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Row } from "@tidings/database/statement";
import type {
  ListedNotificationSchema,
  NotificationMethodService,
} from "@tidings/proto/tidings/content/v1/notification";
import type { Handlers } from "@tidings/rpc/definition";
import type { LedgerOptions } from "../send/channel-ledger.ts";
import { listedMembers, textLedger } from "../text/text-ledger.ts";
import { factReader } from "../visit/fact-kind.ts";
import { readContent } from "./notification-content.ts";
import { NOTIFICATION_KIND } from "./notification-kind.ts";

const ledgerOf = textLedger(NOTIFICATION_KIND, {
  columns: ["provider_id", "is_mobile", "date_read", "click_count"],
  toSend: listed,
});

/** The ledger of notifications as callers see it. */
export function notificationMethods(options: LedgerOptions): Handlers<typeof NotificationMethodService> {
  const { list, resolve, replay } = ledgerOf(options);
  return { listNotificationSends: list, resolveNotificationSend: resolve, replayNotificationSends: replay };
}

function listed(row: Row): MessageInitShape<typeof ListedNotificationSchema> {
  const { number, flag, time } = factReader(row);
  const { content: text, ...content } = readContent(row.content ?? "");
  const dateRead = time("date_read");
  return {
    ...listedMembers(NOTIFICATION_KIND.channel, row),
    ...{ ...content, text },
    notificationId: number("notification_id"),
    isMobile: flag("is_mobile"),
    clickCount: number("click_count"),
    ...(dateRead && { dateRead }),
    ...(row.provider_id && { providerId: row.provider_id }),
  };
}
