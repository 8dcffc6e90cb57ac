import { backgroundDeadline, type Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { coalesce } from "@tidings/runtime/coalesce";
import { v7 } from "uuid";
import { holdMailClicks, type MailClick, WEB_VIEW } from "./hold-clicks.ts";
import { type Open, recordOpensIn } from "./record-opens.ts";

const TOGETHER_MAX = 500;

/** A person saw a mail as a page, by a link in it, at this time in milliseconds since 1970. */
export type RecordView = (hash: string, at: number) => Promise<void>;

/** Views of mails that nobody has read wait as clicks do: scanners follow this link, too. */
export function viewRecorder(database: Database, outbox: Outbox): RecordView {
  const record = coalesce(
    (views: MailClick[]) =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const { free, tooMany } = await holdMailClicks(transaction, views);
        const openOf = ({ sendHash }: MailClick, verdict: "human" | "scanner"): Open => ({
          ...{ hash: sendHash, by: "web view", verdict },
        });
        await recordOpensIn(transaction, outbox, [
          ...free.map((view) => openOf(view, "human")),
          ...tooMany.map((view) => openOf(view, "scanner")),
        ]);
      }),
    { itemsMax: TOGETHER_MAX },
  );
  return async (sendHash, at) => {
    await record("views", { id: v7({ msecs: at }), at, sendHash, target: WEB_VIEW });
  };
}
