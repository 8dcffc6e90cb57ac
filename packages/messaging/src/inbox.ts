import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

/**
 * Records events as consumed and returns those that were not yet: `$1` consumer, `$2` uuid[] of event ids, answers
 * `event_id`. To be the first step of a statement that has the effect, or of its transaction. Ids are written in order,
 * so that two consumers of the same events wait for each other instead of locking each other out.
 */
export const recordEvents = `insert into inbox (consumer, event_id)
  select $1, id from unnest($2::uuid[]) as id order by id
  on conflict do nothing
  returning event_id`;

const record = prepared("inbox_record", recordEvents);

/** Which of these events has this consumer not had before? Part of the transaction that has their effect. */
export async function newEvents(
  transaction: Transaction,
  consumer: string,
  eventIds: string[],
): Promise<Set<string>> {
  const rows = await transaction.query(record, [consumer, eventIds]);
  return new Set(rows.map((row) => row.event_id as string));
}
