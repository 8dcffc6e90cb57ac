import { backgroundDeadline, type Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { v7 } from "uuid";
import { holdMailClicks, type MailClick, WEB_VIEW } from "./hold-clicks.ts";
import type { OpenDevice, OpenedFrom } from "./open-devices.ts";
import { type Open, recordOpensIn } from "./record-opens.ts";

const TOGETHER_MAX = 500;

/** A person saw a mail as a page, by a link in it. */
export interface View {
  hash: string;
  /** In milliseconds since 1970. */
  at: number;
  device: OpenDevice | undefined;
  from: OpenedFrom;
}

export type RecordView = (view: View) => Promise<void>;

/** Views of mails that nobody has read wait as clicks do: scanners follow this link, too. */
export function viewRecorder(database: Database, outbox: Outbox): RecordView {
  const record = coalesce(
    (views: MailClick[]) =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const { free, tooMany } = await holdMailClicks(transaction, views);
        const openOf = ({ sendHash, device, from }: MailClick, verdict: "human" | "scanner"): Open => ({
          ...{ hash: sendHash, by: "web view", verdict, device, from },
        });
        await recordOpensIn(transaction, outbox, [
          ...free.map((view) => openOf(view, "human")),
          ...tooMany.map((view) => openOf(view, "scanner")),
        ]);
      }),
    { itemsMax: TOGETHER_MAX },
  );
  return async ({ hash, at, device, from }) => {
    await record("views", { id: v7({ msecs: at }), at, sendHash: hash, target: WEB_VIEW, device, from });
  };
}
