import { backgroundDeadline, type Database, prepared, type Statement } from "./database.ts";

const SLICE = 1_000;

/**
 * Only the oldest slice is looked at, in key order: the work is bounded whether much, little or nothing is due. Rows
 * that are still unpublished stay.
 */
const purgeOutbox = prepared(
  "purge_outbox",
  `with oldest as (select id, published_at from outbox order by id limit ${SLICE})
   delete from outbox using oldest
   where outbox.id = oldest.id and oldest.published_at < now() - interval '7 days'
   returning 1`,
);
const purgeInbox = prepared(
  "purge_inbox",
  `delete from inbox where ctid = any(array(
     select ctid from inbox where processed_at < now() - interval '30 days' limit ${SLICE}))
   returning 1`,
);

/** Forgets events that were published a week ago and those consumed a month ago. */
export async function purgeMessages(database: Database): Promise<void> {
  await purgeInSlices(database, purgeOutbox, SLICE);
  await purgeInSlices(database, purgeInbox, SLICE);
}

/** Repeats a statement that deletes at most `slice` rows, and returns one for each, until it finds less. */
export async function purgeInSlices(
  database: Database,
  statement: Statement,
  slice: number,
  values: unknown[] = [],
): Promise<void> {
  let deleted = slice;
  while (deleted === slice) deleted = (await database.query(statement, values, backgroundDeadline())).length;
}
