import { setTimeout as pause } from "node:timers/promises";
import { type Database, prepared } from "@tidings/database/database";
import { LEASE_MS } from "@tidings/jobs/queue";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { SendState } from "./send-tables.ts";

export interface SendProgress {
  state: string;
  reason: string;
}

const LOOK_MS = 50;
const ASKED_MAX = 1_000;
/** A look and the way back take a part of the deadline. */
const SPARE_MS = 500;
/** A claim moves a send past its lease: what is due later than that was put off. */
const PUT_OFF_MS = LEASE_MS + 15_000;
const OPEN: ReadonlySet<string> = new Set([SendState.WAITING, SendState.STARTED]);

/**
 * Waits until a message of a table, or of rows with these columns, is decided or put off, or until the deadline comes near; undefined for an unknown one. All who wait share a
 * look.
 */
export function sendAwaiter(
  database: Database,
  table: "sends" | "notices" | "text_sends" | "message_sends",
  rows: string = table,
) {
  const progressStatement = prepared(
    `${table}_progress`,
    `select hash, state, coalesce(reason, '') as reason,
       state = 'waiting' and due_at > now() + interval '${PUT_OFF_MS} milliseconds' as is_put_off
     from ${rows} where hash = any ($1::uuid[])`,
  );
  const look = coalesce(
    async (asked: { hash: string; deadlineMs: number }[]) => {
      const deadlineMs = Math.max(...asked.map((one) => one.deadlineMs));
      const rows = await database.query(progressStatement, [asked.map(({ hash }) => hash)], deadlineMs);
      return new Map(
        rows.map(({ hash, state, reason, is_put_off }) => [
          hash,
          { progress: { state: state ?? "", reason: reason ?? "" }, isPutOff: is_put_off === "t" },
        ]),
      );
    },
    { itemsMax: ASKED_MAX },
  );
  return async (hash: string, deadlineMs: number): Promise<SendProgress | undefined> => {
    for (;;) {
      const seen = (await look(table, { hash, deadlineMs })).get(hash);
      if (!seen || seen.isPutOff || !OPEN.has(seen.progress.state) || Date.now() + SPARE_MS > deadlineMs)
        return seen?.progress;
      await pause(LOOK_MS);
    }
  };
}
