import { prepared } from "@tidings/database/database";
import { advisoryLocksById } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";

const segments = advisoryLocksById("campaign_segment_members");
const campaigns = advisoryLocksById("campaign_members");

/** Compiling the statements of these transactions to machine code takes longer than running them. */
const withoutJit = prepared("campaign_members_jit", "select set_config('jit', 'off', true)");

/** Taken by a transaction that writes members of these segments, before it writes them. */
export function lockSegmentsToWrite(transaction: Transaction, segmentIds: number[]): void {
  transaction.execute(withoutJit);
  segments.exclusive(transaction, segmentIds);
}

/** Taken by a transaction that reads members of these segments, to see all that was written to them. */
export function lockSegmentsToRead(transaction: Transaction, segmentIds: number[]): void {
  transaction.execute(withoutJit);
  segments.shared(transaction, segmentIds);
}

/**
 * Taken before members of these campaigns are derived from segments, after the locks of the segments: the statements that follow
 * see what others derived. Members that are added and removed by hand do not wait.
 */
export function lockCampaigns(transaction: Transaction, campaignIds: number[]): void {
  campaigns.exclusive(transaction, campaignIds);
}
