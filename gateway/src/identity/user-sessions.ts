import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

const sessionsStatement = prepared(
  "user_sessions_end",
  "delete from sessions where user_id = $1 returning 1",
);
const grantsStatement = prepared(
  "user_grants_end",
  "update oauth_grants set revoked_at = now() where user_id = $1 and revoked_at is null returning 1",
);

/** Ends everything that somebody was let in by: sessions, and the access and refresh tokens of apps. */
export async function endSessions(
  transaction: Transaction,
  userId: number,
): Promise<{ sessions: number; grants: number }> {
  const [sessions, grants] = await Promise.all([
    transaction.query(sessionsStatement, [userId]),
    transaction.query(grantsStatement, [userId]),
  ]);
  return { sessions: sessions.length, grants: grants.length };
}
