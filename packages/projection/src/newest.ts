import type { Event } from "@tidings/bus/event";
import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

const newerStatement = prepared(
  "project_newer",
  `insert into projected_versions (kind, id, version)
   select $1, id, max(version) from unnest($2::integer[], $3::integer[]) as t (id, version) group by id order by id
   on conflict (kind, id) do update set version = excluded.version
   where projected_versions.version < excluded.version
   returning id, version`,
);

/**
 * The latest event of each entity of a kind, in their order. An event that came later than a newer version of its entity is left
 * out, and so is what follows a deletion: its version stays behind as a tombstone.
 */
export async function newestEvents(
  transaction: Transaction,
  kind: string,
  events: Event[],
): Promise<Event[]> {
  const rows = await transaction.query(newerStatement, [
    kind,
    events.map(({ aggregateId }) => aggregateId),
    events.map(({ aggregateVersion }) => aggregateVersion),
  ]);
  const versions = new Map(rows.map(({ id, version }) => [Number(id), Number(version)]));
  const newest = events.filter(
    ({ aggregateId, aggregateVersion }) => versions.get(aggregateId) === aggregateVersion,
  );
  return [...new Map(newest.map((event) => [event.aggregateId, event])).values()];
}
