import { prepared } from "@tidings/database/database";
import { advisoryLocksById } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";

const segments = advisoryLocksById("campaign_segment_members");
const campaigns = advisoryLocksById("campaign_members");

/** Processes of the version before have one exclusive lock for all campaigns: they and we exclude each other while both run. */
const earlierStatement = prepared(
  "campaign_members_earlier",
  "select pg_advisory_xact_lock_shared(hashtext('campaign members')), set_config('jit', 'off', true)",
);

/** Taken by a transaction that writes members of these segments, before it writes them. */
export function lockSegmentsToWrite(transaction: Transaction, segmentIds: number[]): void {
  transaction.execute(earlierStatement);
  segments.exclusive(transaction, segmentIds);
}

/** Taken by a transaction that reads members of these segments, to see all that was written to them. */
export function lockSegmentsToRead(transaction: Transaction, segmentIds: number[]): void {
  transaction.execute(earlierStatement);
  segments.shared(transaction, segmentIds);
}

/**
 * Taken before members of these campaigns are derived from segments, after the locks of the segments: the statements that follow
 * see what others derived. Members that are added and removed by hand do not wait.
 */
export function lockCampaigns(transaction: Transaction, campaignIds: number[]): void {
  campaigns.exclusive(transaction, campaignIds);
}
