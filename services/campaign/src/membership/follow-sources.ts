import { timestampMs } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { Campaign } from "@tidings/proto/tidings/campaign/v1/campaign";
import type { Changed } from "@tidings/resource/repository-options";

/** Campaigns whose members are to be brought in step with their segments, by id. */
export const memberJobs = jobsOf("campaign_members");
/** Campaigns that are gone, by id. */
export const removalJobs = jobsOf("campaign_removal");

const forgetStatement = prepared(
  "campaign_segments_forget",
  "delete from campaign_segments where campaign_id = any($1::integer[])",
);
const keepStatement = prepared(
  "campaign_segments_keep",
  "insert into campaign_segments (campaign_id, segment_id) select * from unnest($1::integer[], $2::integer[])",
);

/** Keeps the sources of campaigns, and lets their members follow what was changed of them. */
export function followSources(transaction: Transaction, changes: Changed<Campaign>[]): void {
  const changed = changes.filter(({ before, after }) => !before || !after || isOther(before, after));
  const ids = changed.flatMap(({ before, after }) => [after?.id ?? before?.id ?? 0]);
  if (ids.length === 0) return;
  const kept = changed.flatMap(({ after }) =>
    after ? after.lists.map(({ id }) => [after.id, id] as const) : [],
  );
  transaction.execute(forgetStatement, [ids]);
  transaction.execute(keepStatement, [kept.map(([id]) => id), kept.map(([, segmentId]) => segmentId)]);
  for (const { before, after } of changed) {
    if (after && (before || after.lists.length > 0)) requestMembers(transaction, [after.id], datesOf(after));
    if (!after && before) removalJobs.add(transaction, [{ key: String(before.id) }]);
  }
}

/** Now, and when the campaign is published by its date: its key says which. */
export function requestMembers(transaction: Transaction, ids: number[], dates: Date[] = []): void {
  memberJobs.add(
    transaction,
    ids.flatMap((id) => [
      { key: String(id), group: id },
      ...dates.map((date) => ({
        key: `${id} ${date.toISOString()}`,
        group: id,
        delaySeconds: (date.getTime() - Date.now()) / 1_000,
      })),
    ]),
  );
}

/** A century: further ahead nobody waits. */
const AHEAD_MS = 100 * 365 * 86_400_000;

function datesOf({ publishUp }: Campaign): Date[] {
  const ms = publishUp ? timestampMs(publishUp) : 0;
  return ms > Date.now() && ms < Date.now() + AHEAD_MS ? [new Date(ms)] : [];
}

function isOther(before: Campaign, after: Campaign): boolean {
  return JSON.stringify(readBy(before)) !== JSON.stringify(readBy(after));
}

function readBy({ isPublished, publishUp, publishDown, allowRestart, lists }: Campaign) {
  const times = [publishUp, publishDown].map((time) => time && timestampMs(time));
  return [isPublished, allowRestart, ...times, ...lists.map(({ id }) => id)];
}
