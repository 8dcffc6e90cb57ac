import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { factEvents } from "@tidings/messaging/fact-events";
import type { Outbox } from "@tidings/messaging/outbox";
import { DynamicContentsShownSchema } from "@tidings/proto/tidings/content/v1/events";
import { coalesce } from "@tidings/runtime/coalesce";
import { newFactId } from "../visit/hit.ts";

/** Dynamic content that was shown to a contact. */
export interface Shown {
  contactId: number;
  dynamicContentId: number;
  /** The slot. */
  slot: string;
}

const AT_ONCE = 2;
const GROUP_MAX = 500;

const keepStatement = prepared(
  "dynamic_content_stats_keep",
  `insert into dynamic_content_stats as s (id, dynamic_content_id, contact_id, source, date_sent, last_sent, sent_count)
   select x.id, x.dynamic_content_id, x.contact_id, x.slot, x.at, x.at, x.times
   from json_to_recordset($1::json)
     as x (id uuid, dynamic_content_id integer, contact_id integer, slot text, at timestamptz, times integer)
   order by x.contact_id, x.dynamic_content_id, x.slot
   on conflict (contact_id, dynamic_content_id, source) do update
     set last_sent = excluded.last_sent, sent_count = s.sent_count + excluded.sent_count`,
);
const countStatement = prepared(
  "dynamic_contents_count",
  `update dynamic_contents c set sent_count = c.sent_count + x.times
   from (select * from json_to_recordset($1::json) as x (id integer, times integer) order by id) x where c.id = x.id`,
);

/** Records that contents were shown: those that come at the same time in one transaction, with their event. */
export function shownRecorder({ database, outbox }: { database: Database; outbox: Outbox }) {
  const record = coalesce(
    (all: Shown[]) =>
      database.transaction(backgroundDeadline(), async (transaction) => {
        const facts = all.map((shown) => ({ ...shown, ...newFactId() }));
        const rows = Map.groupBy(
          facts,
          (shown) => `${shown.contactId} ${shown.dynamicContentId} ${shown.slot}`,
        );
        const kept = [...rows.values()].flatMap(([first, ...others]) =>
          first
            ? [
                {
                  id: first.id,
                  dynamic_content_id: first.dynamicContentId,
                  contact_id: first.contactId,
                  slot: first.slot,
                  at: new Date(first.at).toISOString(),
                  times: others.length + 1,
                },
              ]
            : [],
        );
        transaction.execute(keepStatement, [JSON.stringify(kept)]);
        const counts = Map.groupBy(facts, ({ dynamicContentId }) => dynamicContentId);
        const sums = [...counts].map(([id, { length: times }]) => ({ id, times }));
        transaction.execute(countStatement, [JSON.stringify(sums)]);
        outbox.append(
          transaction,
          factEvents("tidings.content.dynamic_content.shown", DynamicContentsShownSchema, facts, (shown) => ({
            shown: shown.map(({ id, contactId, dynamicContentId, slot, at }) => ({
              ...{ id, contactId, dynamicContentId, slot },
              dateSent: timestampFromMs(at),
            })),
          })),
        );
      }),
    { atOnce: AT_ONCE, itemsMax: GROUP_MAX },
  );
  return (shown: Shown): Promise<void> => record("shown", shown);
}
