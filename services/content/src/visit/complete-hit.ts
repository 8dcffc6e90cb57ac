import { backgroundDeadline, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import { PageHitsSchema } from "@tidings/proto/tidings/content/v1/events";
import { columnsIn } from "./fact-table.ts";
import { groupCommit } from "./group-commit.ts";
import { completeHeld } from "./held-visits.ts";
import { type Hit, newFactId, timeOfId } from "./hit.ts";
import { meetVisitors } from "./meet-visitors.ts";
import { eventOfStored, HITS_SUBJECT, identifyAll, type RecordHit, type Visits } from "./record-hits.ts";
import type { Visitor } from "./sighting.ts";
import { HIT_COLUMNS } from "./visit-tables.ts";

/** Completes a hit that is recorded already with what the script on its page says of the browser and the visitor, and answers who that is. */
export function hitCompleter(visits: Visits): RecordHit {
  return groupCommit((hits) => completeHits(visits, hits));
}

async function completeHits(
  { database, outbox, ids }: Visits,
  sent: Hit[],
): Promise<ReadonlyMap<Hit, Visitor>> {
  return database.transaction(
    backgroundDeadline(),
    async (transaction) => {
      // A hit that waits is asked about first: while it is recorded this waits for the commit.
      const waiting = await completeHeld(transaction, sent);
      const others = sent.filter(({ id }) => !waiting.has(id));
      const { visitors, facts, events } = await meetVisitors(transaction, ids, others, {
        targetsOf: () => [],
      });
      const completed = await addToQueries(transaction, facts);
      await identifyAll(transaction, ids, facts, {
        visitorOf: (hit) => visitors.get(hit),
        occasionOf: ({ at }) => `view ${newFactId(at).id}`,
      });
      const hits = factEvents(HITS_SUBJECT, PageHitsSchema, completed.map(eventOfStored), (slice) => ({
        hits: slice,
      }));
      outbox.append(transaction, [...events, ...hits]);
      return visitors;
    },
    { byIndex: true },
  );
}

/** The time of a hit is in its id: only the partition of its month is looked into. */
const completeStatement = prepared(
  "page_hits_complete",
  `update page_hits h set query = coalesce(h.query, '{}') || x.query, version = h.version + 1
   from json_to_recordset($1::json) as x (id uuid, date_hit timestamptz, query jsonb)
   where h.id = x.id and h.date_hit = x.date_hit and not coalesce(h.query, '{}') @> x.query
   returning ${columnsIn("h", HIT_COLUMNS)}`,
);

async function addToQueries(transaction: Transaction, hits: Hit[]) {
  const latest = new Map(hits.map((hit) => [hit.id, hit]));
  const rows = [...latest.values()]
    .toSorted((one, other) => (one.id < other.id ? -1 : 1))
    .map(({ id, query }) => ({ id, date_hit: timeOfId(id).toISOString(), query }));
  return rows.length === 0 ? [] : transaction.query(completeStatement, [JSON.stringify(rows)]);
}
