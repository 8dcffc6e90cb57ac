import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { jobsOf } from "@tidings/jobs/jobs";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { forgetIn } from "@tidings/projection/forget-in";
import type { Projection } from "@tidings/projection/projection";
import { segments } from "@tidings/projection/segments";
import { SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { requestMembers } from "./follow-sources.ts";

/** Segments that are gone, by id: their members are forgotten. */
const segmentRemovalJobs = jobsOf("campaign_segment_removal", { shown: { subject: SegmentSchema } });

const usersStatement = prepared(
  "campaigns_with_segments",
  "select distinct campaign_id from campaign_segments where segment_id = any((select $1::integer[])::integer[])",
);
const forgetListsStatement = forgetIn("campaigns", "lists");
const forgetFormsStatement = forgetIn("campaigns", "forms");
const forgetSourcesStatement = prepared(
  "campaign_segments_gone",
  "delete from campaign_segments where segment_id = any((select $1::integer[])::integer[])",
);

/** The segments that campaigns take their members from: whether they are published, and that they are gone, changes those. */
export function sourceSegments(): Projection {
  const projection = segments(forgetSegments);
  return {
    ...projection,
    async keep(transaction, events) {
      const named = [...new Set(events.map(({ aggregateId }) => aggregateId))];
      const users = await transaction.query(usersStatement, [named]);
      const ids = await projection.keep(transaction, events);
      await requestMembers(
        transaction,
        users.map(({ campaign_id }) => Number(campaign_id)),
      );
      return ids;
    },
  };
}

function forgetSegments(transaction: Transaction, ids: number[]): void {
  transaction.execute(forgetListsStatement, [ids]);
  transaction.execute(forgetSourcesStatement, [ids]);
  segmentRemovalJobs.add(
    transaction,
    // The id alone is known here of a segment that is gone: callers who may view all segments see the job.
    ids.map((id) => ({ key: String(id), subject: { id, name: "", ownerId: undefined } })),
  );
}

/** Forms that are gone bring nobody. */
export function forgetForms(transaction: Transaction, ids: number[]): void {
  transaction.execute(forgetFormsStatement, [ids]);
}

const SLICE = 20_000;
/** Up to the last of the slice: a join with it may be planned as one of each with each, where a segment is too new for statistics. */
const forgetMembersStatement = prepared(
  "segment_contacts_forget",
  `delete from segment_contacts where segment_id = $1 and contact_id <= (
     select max(contact_id) from (
       select contact_id from segment_contacts where segment_id = $1 order by contact_id limit $2::bigint) slice)
   returning 1 as gone`,
);

export function segmentRemovalOptions({ database, log }: Pick<JobOptions, "database" | "log">): JobOptions {
  return {
    database,
    log,
    jobs: segmentRemovalJobs,
    async work(transaction, { key, payload }) {
      const gone = await transaction.query(forgetMembersStatement, [Number(key), SLICE]);
      const members = Number(payload.members ?? 0) + gone.length;
      const progress = { done: members, result: { members } };
      return gone.length < SLICE
        ? { state: "done", progress: { ...progress, total: members } }
        : { state: "again", payload: { members }, progress };
    },
  };
}
