import { backgroundDeadline, type Database, prepared, WITHOUT_FLUSH } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";

const SLICE = 1_000;

/**
 * Only the oldest slice is looked at, in key order: the work is bounded whether much, little or nothing is due. Events
 * that are not published yet stay.
 */
const purgeOutbox = prepared(
  "purge_outbox",
  `with oldest as (select id, created_at from outbox order by id limit ${SLICE})
   delete from outbox using oldest
   where outbox.id = oldest.id and oldest.created_at < $1::timestamptz
     and not exists (select from outbox_waiting w where w.id = oldest.id)
     and ${WITHOUT_FLUSH}
   returning 1`,
);
const purgeInbox = prepared(
  "purge_inbox",
  `delete from inbox where ctid = any(array(
     select ctid from inbox where processed_at < now() - interval '30 days' limit ${SLICE}))
   returning 1`,
);

/** Forgets events that happened before, as far as they are published, and which ones were consumed a month ago. */
export async function purgeMessages(database: Database, before: Date): Promise<void> {
  await purgeInSlices(database, purgeOutbox, SLICE, [before.toISOString()]);
  await purgeInSlices(database, purgeInbox, SLICE);
}

/**
 * Repeats a statement that deletes at most `slice` rows, and returns one for each, until it finds less. It is planned each
 * time, whatever its name: a plan that was made while the table was small would read all of it.
 */
export async function purgeInSlices(
  database: Database,
  { text }: Statement,
  slice: number,
  values: unknown[] = [],
): Promise<void> {
  let deleted = slice;
  while (deleted === slice) deleted = (await database.query({ text }, values, backgroundDeadline())).length;
}
