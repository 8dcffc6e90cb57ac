import { prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";

const lock = advisoryLock("segment members");
/** Compiling the statements of these transactions to machine code takes longer than running them. */
const withoutJit = prepared("segment_members_jit", "select set_config('jit', 'off', true)");

/**
 * Serialises all writers of segment members (advisory lock, held to commit). So the rows that one reads are never older than
 * the writes of another, and a contact that changes meanwhile is evaluated again by its own event.
 * Writers of contacts do not wait.
 */
export function lockMembers(transaction: Transaction): void {
  lock.exclusive(transaction);
  transaction.execute(withoutJit);
}
