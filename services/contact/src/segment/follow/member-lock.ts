import { prepared } from "@tidings/database/database";
import { lockKey } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";

/** The key that replicas of the version before take alone, in a rolling upgrade: it goes with the next version. */
const KEY_BEFORE = "hashtext('segment members')";

const takeStatement = prepared(
  "segment_members_lock",
  `select pg_advisory_xact_lock(${KEY_BEFORE}), pg_advisory_xact_lock(${lockKey("segment members")}), set_config('jit', 'off', true)`,
);

/**
 * Serialises all writers of segment members (advisory lock, held to commit). So the rows that one reads are never older than
 * the writes of another, and a contact that changes meanwhile is evaluated again by its own event.
 * Writers of contacts do not wait. Compiling these statements to machine code takes longer than running them.
 */
export function lockMembers(transaction: Transaction): void {
  transaction.execute(takeStatement);
}
