import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { filtersOf, namedIn } from "@tidings/filters/filter";
import { jobsOf } from "@tidings/jobs/jobs";
import { subjectIn } from "@tidings/jobs/records";
import { type Segment, SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import type { Changed } from "@tidings/resource/repository-options";

/** The problem of a segment whose filters fail. */
export const PROBLEM = "The filters could not be evaluated.";

const cancelStatement = prepared(
  "segment_builds_cancel",
  "update segment_builds set requested_at = null, problem = 'The build was cancelled.' where segment_id = $1",
);
/** Builds by the id of their segment. How far each is, and how the last one ended, is in `segment_builds`. */
export const buildJobs = jobsOf("segment_build", {
  shown: {
    subject: SegmentSchema,
    cancel: (transaction, key) => transaction.execute(cancelStatement, [Number(key)]),
  },
});

const resetStatement = prepared(
  "segment_builds_reset",
  `insert into segment_builds (segment_id, requested_at)
   select id, clock_timestamp() from unnest($1::integer[]) as id order by id
   on conflict (segment_id) do update set requested_at = excluded.requested_at, started_at = null, position = 0,
     added = 0, removed = 0, problem = null`,
);
const subjectsStatement = prepared(
  "segments_built",
  "select id, name, created_by from segments where id = any($1::integer[]) order by id",
);
const forgetUsesStatement = prepared(
  "segment_uses_forget",
  "delete from segment_uses where segment_id = any($1::integer[])",
);
const useStatement = prepared(
  "segment_uses_add",
  "insert into segment_uses (segment_id, used_id) select * from unnest($1::integer[], $2::integer[])",
);
const usersStatement = prepared(
  "segment_users",
  `with recursive users as (
     select segment_id from segment_uses where used_id = any($1::integer[])
     union select u.segment_id from segment_uses u join users on u.used_id = users.segment_id)
   select s.id from segments s where s.id in (select segment_id from users) or s.id = any($1::integer[])`,
);

/** Lets the members of these segments be found from the beginning. */
export async function requestBuilds(transaction: Transaction, segmentIds: number[]): Promise<void> {
  if (segmentIds.length === 0) return;
  transaction.execute(resetStatement, [segmentIds]);
  const segments = await transaction.query(subjectsStatement, [segmentIds]);
  buildJobs.add(
    transaction,
    segments.map((segment) => ({ key: segment.id ?? "", subject: subjectIn(segment) })),
  );
}

/** A segment that is defined anew is built, and so is every one that names it, by however many others. */
export async function followDefinitions(
  transaction: Transaction,
  changes: Changed<Segment>[],
): Promise<void> {
  const defined = changes.flatMap(({ before, after }) =>
    after && (!before || !isSame(before, after)) ? [after] : [],
  );
  if (defined.length === 0) return;
  const ids = defined.map(({ id }) => id);
  const uses = defined.flatMap((segment) =>
    [...new Set(namedIn(filtersOf(segment)))].map((usedId) => [segment.id, usedId] as const),
  );
  transaction.execute(forgetUsesStatement, [ids]);
  transaction.execute(useStatement, [uses.map(([id]) => id), uses.map(([, usedId]) => usedId)]);
  const users = await transaction.query(usersStatement, [ids]);
  await requestBuilds(
    transaction,
    users.map(({ id }) => Number(id)),
  );
}

function isSame(before: Segment, after: Segment): boolean {
  return before.isPublished === after.isPublished && Buffer.from(before.filters).equals(after.filters);
}
