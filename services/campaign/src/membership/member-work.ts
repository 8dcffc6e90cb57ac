import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Job } from "@tidings/jobs/jobs";
import type { Outcome } from "@tidings/jobs/outcome";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Log } from "@tidings/runtime/log";
import { followRange } from "./follow.ts";
import { memberJobs, publicationJobs, removalJobs, requestMembers } from "./follow-sources.ts";
import { lockCampaigns, lockSegmentsToRead } from "./locks.ts";
import { CHANGED, tellMemberships } from "./membership-events.ts";
import { segmentRemovalOptions } from "./sources.ts";

export interface MemberServices {
  database: Database;
  outbox: Outbox;
  log: Log;
}

/** Contacts that are looked at in one transaction: for so long at most do those wait who follow single contacts. */
const SLICE = 5_000;

/** Campaigns whose members a process finds at once; of one campaign it finds a slice after the other. */
const CAMPAIGNS_AT_ONCE = 4;

/** A campaign that gets another segment meanwhile has another job for it. */
const sourcesStatement = prepared(
  "campaign_members_sources",
  "select segment_id from campaign_segments where campaign_id = $1",
);

/** The last of the next contacts that are in a segment of the campaign, or in the campaign. */
const sliceStatement = prepared(
  "campaign_members_slice",
  `select max(contact_id) as until, count(*) as count,
     greatest(
       (select max(last.contact_id) from campaign_segments cs cross join lateral (
          select contact_id from segment_contacts where segment_id = cs.segment_id order by contact_id desc limit 1) last
        where cs.campaign_id = $1),
       (select contact_id from campaign_contacts where campaign_id = $1 order by contact_id desc limit 1)) as last_id
   from (
     select contact_id from (
       select sc.contact_id from campaign_segments cs cross join lateral (
         select contact_id from segment_contacts where segment_id = cs.segment_id and contact_id > $2
         order by contact_id limit $3::bigint) sc
       where cs.campaign_id = $1
       union
       (select contact_id from campaign_contacts
        where campaign_id = $1 and contact_id > $2 and not manually_removed order by contact_id limit $3::bigint)) found
     order by contact_id limit $3::bigint) slice`,
);

/** Brings the members of campaigns in step with their segments, a slice in a transaction. Any number of replicas may do so. */
export function memberOptions({ database, outbox, log }: MemberServices, slice = SLICE): JobOptions {
  return {
    database,
    log,
    jobs: memberJobs,
    atOnce: CAMPAIGNS_AT_ONCE,
    atOnceOfGroup: 1,
    async work(transaction, { key, payload }: Job): Promise<Outcome> {
      // The version before this one had the date of a publication in it, too.
      const campaignId = Number(key.split(" ")[0]);
      const after = Number(payload.after ?? 0);
      const sources = await transaction.query(sourcesStatement, [campaignId]);
      lockSegmentsToRead(
        transaction,
        sources.map(({ segment_id }) => Number(segment_id)),
      );
      lockCampaigns(transaction, [campaignId]);
      const [found] = await transaction.query(sliceStatement, [campaignId, after, slice]);
      if (!found?.until) return { state: "done" };
      const until = Number(found.until);
      await followRange(transaction, outbox, { campaignId, after, until });
      const progress = { done: until, total: Math.max(until, Number(found.last_id)) };
      if (Number(found.count) < slice) return { state: "done", progress };
      return { state: "again", payload: { after: until }, progress };
    },
  };
}

/** Lets the members of a campaign follow once it is published by its date. */
function publicationOptions({ database, log }: MemberServices): JobOptions {
  return {
    database,
    log,
    jobs: publicationJobs,
    async work(transaction, { payload }) {
      await requestMembers(transaction, [Number(payload.campaignId)]);
      return { state: "done" };
    },
  };
}

const forgetMembersStatement = prepared(
  "campaign_contacts_forget",
  `delete from campaign_contacts m where m.campaign_id = $1 and m.contact_id <= (
     select max(contact_id) from (
       select contact_id from campaign_contacts where campaign_id = $1 order by contact_id limit $2::bigint) slice)
   returning ${CHANGED}`,
);
const forgetLogsStatement = prepared(
  "campaign_event_logs_forget",
  `delete from campaign_event_logs where campaign_id = $1 and id <= (
     select max(id) from (select id from campaign_event_logs where campaign_id = $1 order by id limit $2::bigint) slice)
   returning 1 as gone`,
);

/** Publishes the removal of each member of a deleted campaign, then deletes its log. */
function removalOptions({ database, outbox, log }: MemberServices): JobOptions {
  return {
    database,
    log,
    jobs: removalJobs,
    work: (transaction, job) => removeSlice(transaction, outbox, job),
  };
}

async function removeSlice(
  transaction: Transaction,
  outbox: Outbox,
  { key, payload }: Job,
): Promise<Outcome> {
  const campaignId = Number(key);
  const members = await transaction.query(forgetMembersStatement, [campaignId, SLICE]);
  const ended = members.map((row) => ({
    ...row,
    version: String(Number(row.version) + 1),
    manually_added: "f",
    manually_removed: "t",
  }));
  tellMemberships(transaction, outbox, ended);
  const logs = await transaction.query(forgetLogsStatement, [campaignId, SLICE]);
  const result = {
    members: Number(payload.members ?? 0) + members.length,
    logs: Number(payload.logs ?? 0) + logs.length,
  };
  const progress = { done: result.members + result.logs, result };
  const isDone = members.length < SLICE && logs.length < SLICE;
  return isDone ? { state: "done", progress } : { state: "again", payload: result, progress };
}

export function memberWork(services: MemberServices): JobOptions[] {
  return [
    memberOptions(services),
    publicationOptions(services),
    removalOptions(services),
    segmentRemovalOptions(services),
  ];
}
