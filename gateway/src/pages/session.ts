import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { digest } from "../secret.ts";

const IDLE = "interval '30 minutes'";
const LIFETIME = "interval '12 hours'";
const LOOKUP_MS = 5_000;

const findStatement = prepared(
  "session_find",
  `select user_id, seen_at < now() - interval '1 minute' as is_stale from sessions
   where hash = $1 and seen_at > now() - ${IDLE} and date_added > now() - ${LIFETIME}`,
);
const touchStatement = prepared("session_touch", "update sessions set seen_at = now() where hash = $1");
const openStatement = prepared("session_open", "insert into sessions (hash, user_id) values ($1, $2)");
const closeStatement = prepared("session_close", "delete from sessions where hash = $1");

/** The user with this session id, unless the session has been idle for half an hour. Keeps it from becoming idle. */
export async function findSession(database: Database, id: string): Promise<number | undefined> {
  const hash = digest(id);
  const [row] = await database.query(findStatement, [hash], Date.now() + LOOKUP_MS);
  if (row?.is_stale === "t") await database.query(touchStatement, [hash], Date.now() + LOOKUP_MS);
  return row && Number(row.user_id);
}

export function openSession(transaction: Transaction, id: string, userId: number): void {
  transaction.execute(openStatement, [digest(id), userId]);
}

export async function closeSession(database: Database, id: string): Promise<void> {
  await database.query(closeStatement, [digest(id)], Date.now() + LOOKUP_MS);
}
