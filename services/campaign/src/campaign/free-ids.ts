import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Campaign } from "@tidings/proto/tidings/campaign/v1/campaign";

const lockStatement = prepared(
  "campaigns_lock_ids",
  `select id from campaigns where id = any((select $1::integer[])::integer[]) order by id for update`,
);
const knownStatement = prepared(
  "campaign_events_known",
  `select id from campaign_events where campaign_id = any((select $1::integer[])::integer[])
   and id = any((select $2::integer[])::integer[])`,
);
const nextStatement = prepared(
  "campaign_events_next",
  "select nextval('campaigns_events_ids') as id from generate_series(1, (select $1::integer))",
);

/**
 * As many ids as these messages may need for events that are new: the graph names them before they are written. Campaigns are
 * locked first, so that what is there now is there when they are changed.
 */
export async function freeEventIds(
  transaction: Transaction,
  messages: (Campaign | undefined)[],
  campaignIds: number[],
): Promise<number[]> {
  const sent = messages.flatMap((message) => message?.events ?? []);
  if (sent.length === 0) return [];
  if (campaignIds.length > 0) transaction.execute(lockStatement, [campaignIds]);
  const ids = sent.map(({ id }) => id).filter((id) => id > 0);
  // A row that the batch changes twice may have fewer events after the first change than now.
  const isTwice = new Set(campaignIds).size < campaignIds.length;
  const rows = ids.length > 0 && !isTwice ? await transaction.query(knownStatement, [campaignIds, ids]) : [];
  const known = new Set(rows.map(({ id }) => Number(id)));
  const count = sent.filter(({ id }) => !known.has(id)).length;
  if (count === 0) return [];
  return (await transaction.query(nextStatement, [count])).map(({ id }) => Number(id));
}
