import { prepared, type Transaction } from "@tidings/store/database";

const takeStatement = prepared(
  "segment_turn",
  "select pg_advisory_xact_lock(hashtext('segment members')), set_config('jit', 'off', true)",
);

/**
 * Whoever works out who belongs to a segment takes turns until its transaction ends. So what it reads is never older than
 * what somebody else has written already, and a contact that changes meanwhile is looked at again by its own event.
 * Writers of contacts do not wait. Compiling these statements to machine code takes longer than running them.
 */
export function takeTurn(transaction: Transaction): void {
  transaction.execute(takeStatement);
}
