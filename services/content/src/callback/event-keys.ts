import { createHash } from "node:crypto";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

/** Days for which it is remembered which events were taken. */
export const EVENT_DAYS = 30;

const newStatement = prepared(
  "callback_events_add",
  "insert into callback_events (key) select k from unnest($1::uuid[]) as u (k) order by k on conflict do nothing returning key",
);

const keepStatement = prepared(
  "callback_events_keep",
  "update callback_events set date_added = 'infinity' where key = any ($1::uuid[])",
);

/** The key of an event by its provider and its own name: 128 bits of a hash (SHA-256), so that no two events have the same. */
export function eventKey(...parts: string[]): string {
  const hex = createHash("sha256").update(JSON.stringify(parts)).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    "-",
  );
}

/** Remembers the keys of events that the transaction takes. Answers those that no transaction took before. */
export async function takeNew(transaction: Transaction, keys: string[]): Promise<string[]> {
  if (keys.length === 0) return [];
  return (await transaction.query(newStatement, [keys])).flatMap(({ key }) => key ?? []);
}

/** Remembers for good that these events were taken: the retention does not see them. */
export function keepTaken(transaction: Transaction, keys: string[]): void {
  if (keys.length > 0) transaction.execute(keepStatement, [keys]);
}
