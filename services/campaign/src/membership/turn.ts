import { prepared, type Transaction } from "@tidings/store/database";

const takeStatement = prepared(
  "campaign_turn",
  "select pg_advisory_xact_lock(hashtext('campaign members')), set_config('jit', 'off', true)",
);

/**
 * Whoever works out from segments who belongs to a campaign takes turns until its transaction ends: what it reads of them is
 * never older than what somebody else has written already. Who adds and removes members by hand does not wait.
 */
export function takeTurn(transaction: Transaction): void {
  transaction.execute(takeStatement);
}
