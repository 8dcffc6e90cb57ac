import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { recordOpensIn } from "./record-opens.ts";

/** Notes that something followed the link of a mail that no person sees. */
export type RecordTrap = (hash: string) => Promise<void>;

const TOGETHER_MAX = 500;
const scannedStatement = prepared(
  "sends_trapped",
  "update sends set last_scanned = now() where hash = any ($1::uuid[])",
);

/** The clicks that wait with it, and those just before and after it, are a scanner's, too. Traps that come at the same time are committed together. */
export function trapRecorder(database: Database, outbox: Outbox): RecordTrap {
  const record = coalesce(
    (hashes: string[]) =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const clicks = hashes.map((hash) => ({ hash, by: "click" as const, verdict: "scanner" as const }));
        await recordOpensIn(transaction, outbox, clicks);
        transaction.execute(scannedStatement, [hashes]);
      }),
    { itemsMax: TOGETHER_MAX },
  );
  return (hash) => record("traps", hash);
}
