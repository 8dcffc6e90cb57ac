import { statements } from "@tidings/database/statements";
import { JOB_TABLE } from "@tidings/jobs/tables";

/** Builds and upkeep are jobs, and planned by who changes the definition: triggers only note that something changed. */
export const moveToJobs = statements(
  ...JOB_TABLE,
  // It never ends: each day has the next one built.
  "insert into jobs (kind, key) values ('segment_day', 'day')",
  `insert into jobs (kind, key) select 'segment_build', segment_id::text from segment_builds
   where requested_at is not null order by requested_at`,
  `insert into jobs (kind, key, fair_group, payload)
   select 'field_upkeep', task || ' ' || id, field_id, json_build_object('task', task, 'fieldId', field_id, 'object', object,
     'alias', alias, 'position', position)
   from field_upkeep order by id`,
  "drop trigger segments_defined on segments",
  "drop trigger segments_redefined on segments",
  "drop function follow_segment_definition",
  "drop function request_segment_build",
  "drop index segment_builds_requested",
  "drop trigger fields_upkeep on fields",
  "drop function plan_field_upkeep",
  "drop table field_upkeep",
);
