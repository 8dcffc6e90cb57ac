import { create } from "@bufbuild/protobuf";
import { type Database, prepared } from "@tidings/database/database";
import { timestampFromText } from "@tidings/database/timestamp";
import { type SegmentBuild, SegmentBuildSchema } from "@tidings/proto/tidings/contact/v1/segment";
import { notFound } from "@tidings/rpc/fault";

const buildStatement = prepared(
  "segment_builds_get",
  `select requested_at, started_at, position, last_id, added, removed, built_at, seconds, problem,
     (select id from job_records where kind = 'segment_build' and subject_id = $1 order by id desc limit 1) as job_id
   from segment_builds where segment_id = $1`,
);

/** How far the build of a segment is. Throws NOT_FOUND. */
export async function readBuild(database: Database, id: number, deadlineMs: number): Promise<SegmentBuild> {
  const [row] = await database.query(buildStatement, [id], deadlineMs);
  if (!row) throw notFound();
  const {
    requested_at,
    started_at,
    position,
    last_id,
    added,
    removed,
    built_at,
    seconds,
    problem,
    job_id: jobId,
  } = row;
  const isBusy = requested_at !== null;
  const state = isBusy ? (started_at ? "running" : "waiting") : problem ? "failed" : "done";
  return create(SegmentBuildSchema, {
    state,
    progress: isBusy ? Math.min(Number(position) / Math.max(Number(last_id), 1), 1) : 1,
    added: Number(added),
    removed: Number(removed),
    ...(built_at && { lastBuiltDate: timestampFromText(built_at) }),
    ...(seconds && { lastBuiltSeconds: Number(seconds) }),
    ...(problem && { problem }),
    ...(jobId && { jobId }),
  });
}
