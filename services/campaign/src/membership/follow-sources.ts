import { timestampMs } from "@bufbuild/protobuf/wkt";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf, type NewJob } from "@tidings/jobs/jobs";
import { type Subject, subjectIn } from "@tidings/jobs/records";
import { type Campaign, CampaignSchema } from "@tidings/proto/tidings/campaign/v1/campaign";
import type { Changed } from "@tidings/resource/repository-options";

/** Campaigns whose members are to be brought in step with their segments, by id. */
export const memberJobs = jobsOf("campaign_members", {
  // Contacts that a cancelled job did not come to follow with the next change of the campaign or of one of its segments.
  shown: { subject: CampaignSchema, cancel: () => undefined },
});
/** Campaigns that are published by their date then, by id and date. */
export const publicationJobs = jobsOf("campaign_publication");
/** Campaigns that are gone, by id. */
export const removalJobs = jobsOf("campaign_removal", { shown: { subject: CampaignSchema } });

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
    if (after && (before || after.lists.length > 0)) {
      requestMembersOf(transaction, [subjectOf(after)]);
      publicationJobs.add(transaction, publicationsOf(after));
    }
    if (!after && before)
      removalJobs.add(transaction, [{ key: String(before.id), subject: subjectOf(before) }]);
  }
}

const subjectsStatement = prepared(
  "campaigns_followed",
  "select id, name, created_by from campaigns where id = any((select $1::integer[])::integer[]) order by id",
);

/** Lets the members of these campaigns be brought in step with their segments from the beginning. */
export async function requestMembers(transaction: Transaction, ids: number[]): Promise<void> {
  if (ids.length === 0) return;
  const campaigns = await transaction.query(subjectsStatement, [ids]);
  requestMembersOf(transaction, campaigns.map(subjectIn));
}

function requestMembersOf(transaction: Transaction, campaigns: Subject[]): void {
  memberJobs.add(
    transaction,
    campaigns.map((subject) => ({ key: String(subject.id), group: subject.id, subject })),
  );
}

function subjectOf({ id, name, createdBy }: Campaign): Subject {
  return { id, name, ownerId: createdBy };
}

/** A century: further ahead nobody waits. */
const AHEAD_MS = 100 * 365 * 86_400_000;

function publicationsOf({ id, publishUp }: Campaign): NewJob[] {
  const ms = publishUp ? timestampMs(publishUp) : 0;
  if (ms <= Date.now() || ms > Date.now() + AHEAD_MS) return [];
  const key = `${id} ${new Date(ms).toISOString()}`;
  return [{ key, payload: { campaignId: id }, delaySeconds: (ms - Date.now()) / 1_000 }];
}

function isOther(before: Campaign, after: Campaign): boolean {
  return JSON.stringify(readBy(before)) !== JSON.stringify(readBy(after));
}

function readBy({ isPublished, publishUp, publishDown, allowRestart, lists }: Campaign) {
  const times = [publishUp, publishDown].map((time) => time && timestampMs(time));
  return [isPublished, allowRestart, ...times, ...lists.map(({ id }) => id)];
}
