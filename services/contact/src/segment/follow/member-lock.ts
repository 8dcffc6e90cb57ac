import { prepared, type Transaction } from "@tidings/database/database";

const takeStatement = prepared(
  "segment_members_lock",
  "select pg_advisory_xact_lock(hashtext('segment members')), set_config('jit', 'off', true)",
);

/**
 * Serialises all writers of segment members (advisory lock, held to commit). So the rows that one reads are never older than
 * the writes of another, and a contact that changes meanwhile is evaluated again by its own event.
 * Writers of contacts do not wait. Compiling these statements to machine code takes longer than running them.
 */
export function lockMembers(transaction: Transaction): void {
  transaction.execute(takeStatement);
}
