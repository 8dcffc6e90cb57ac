import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";

const HOUR_SECONDS = 3_600;

/** Decisions of tests by broadcast. */
export const decisions = jobsOf("broadcast_winner");

/** Has the winner of a broadcast computed after some hours. */
export function planDecision(transaction: Transaction, broadcastId: string, hours: number): void {
  decisions.add(transaction, [{ key: broadcastId, delaySeconds: hours * HOUR_SECONDS }]);
}
