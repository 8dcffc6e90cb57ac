import { type Kysely, sql } from "kysely";

/**
 * A segment whose members could not be found is left out by the followers of contacts, on every replica, until it is asked
 * for again. A filter shows how its value is displayed in one place only.
 */
export async function followSegmentFailures(db: Kysely<unknown>): Promise<void> {
  await sql`
    create or replace function request_segment_build(segment integer) returns void language sql as $$
      insert into segment_builds (segment_id, requested_at) values (segment, clock_timestamp())
      on conflict (segment_id) do update
      set requested_at = clock_timestamp(), started_at = null, position = 0, added = 0, removed = 0, problem = null
    $$`.execute(db);
  await sql`
    create trigger segment_failures_changed after update on segment_builds
    for each row when (old.problem is distinct from new.problem)
    execute function bump_segment_revision()`.execute(db);
  await sql`alter table segments disable trigger user`.execute(db);
  await sql`
    update segments set filters = (
      select coalesce(jsonb_agg(f #- '{properties,display}' order by n), '[]')
      from jsonb_array_elements(filters) with ordinality as list (f, n))`.execute(db);
  await sql`alter table segments enable trigger user`.execute(db);
}
