import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { factEvents } from "@tidings/messaging/fact-events";
import type { Outbox } from "@tidings/messaging/outbox";
import { contactsByFate } from "@tidings/projection/contact-fates";
import { coalesce } from "@tidings/runtime/coalesce/coalesce";
import { columnsIn } from "../visit/fact-table.ts";
import { newFactId } from "../visit/hit.ts";
import { SHOWN_CONTENTS } from "./shown-fact.ts";

/** Dynamic content that was shown to a contact. */
export interface Shown {
  contactId: number;
  dynamicContentId: number;
  /** The slot. */
  slot: string;
  /** When, in milliseconds since 1970. */
  at: number;
}

/** Records that a content was shown. `heldDeviceId`: the browser of a visitor who waits for a verdict. */
export type RecordShown = (shown: Shown, heldDeviceId?: string) => Promise<void>;

const SUBJECT = "tidings.content.dynamic_content.shown";
const AT_ONCE = 2;
const GROUP_MAX = 500;

/** A contact that was merged meanwhile is the survivor, and nothing is kept of one that was erased. */
const keepStatement = prepared(
  "dynamic_content_stats_keep",
  `with s as (
     select * from json_to_recordset($1::json) as x (id uuid, dynamic_content_id integer, contact_id integer, slot text, at timestamptz)),
   shown as (
     select min(s.id::text)::uuid as id, ${contactsByFate.contactId} as contact_id, s.dynamic_content_id, s.slot, max(s.at) as at, count(*) as times
     from s ${contactsByFate.join} group by 2, 3, 4)
   insert into dynamic_content_stats as t (id, dynamic_content_id, contact_id, source, date_sent, last_sent, sent_count)
   select id, dynamic_content_id, contact_id, slot, at, at, times from shown order by contact_id, dynamic_content_id, slot
   on conflict (contact_id, dynamic_content_id, source) do update
     set last_sent = greatest(t.last_sent, excluded.last_sent), sent_count = t.sent_count + excluded.sent_count
   returning ${columnsIn("t", SHOWN_CONTENTS.columns)}`,
);
const countStatement = prepared(
  "dynamic_contents_count",
  `update dynamic_contents c set sent_count = c.sent_count + x.times
   from (select * from json_to_recordset($1::json) as x (id integer, times integer) order by id) x where c.id = x.id`,
);

const holdStatement = prepared(
  "mail_clicks_show",
  `update mail_clicks set hit = jsonb_set(hit, '{shown}', coalesce(hit -> 'shown', '[]') || $2::jsonb)
   where id = (select id from mail_clicks where device ->> 'id' = $1 and hit is not null order by id::text desc limit 1) returning id`,
);

/** Records that contents were shown: those that come at the same time in one transaction. What a visitor saw who waits is kept with their latest hit. */
export function shownRecorder({ database, outbox }: { database: Database; outbox: Outbox }): RecordShown {
  const record = coalesce(
    (all: Shown[]) =>
      database.transaction(backgroundDeadline(), (transaction) => recordShownIn(transaction, outbox, all), {
        byIndex: true,
      }),
    { atOnce: AT_ONCE, itemsMax: GROUP_MAX },
  );
  return async (shown, heldDeviceId) => {
    if (heldDeviceId === undefined) return record("shown", shown);
    const values = [heldDeviceId, JSON.stringify(shown)];
    const [held] = await database.query(holdStatement, values, backgroundDeadline());
    if (!held) return record("shown", shown);
  };
}

/** Records that contents were shown, as a part of a transaction, with their event. */
export async function recordShownIn(transaction: Transaction, outbox: Outbox, all: Shown[]): Promise<void> {
  if (all.length === 0) return;
  const sent = all.map(({ contactId, dynamicContentId, slot, at }) => {
    const time = new Date(at).toISOString();
    return {
      id: newFactId(at).id,
      dynamic_content_id: dynamicContentId,
      contact_id: contactId,
      slot,
      at: time,
    };
  });
  contactsByFate.hold(transaction, []);
  const rows = await transaction.query(keepStatement, [JSON.stringify(sent)]);
  const counts = Map.groupBy(all, ({ dynamicContentId }) => dynamicContentId);
  const sums = [...counts].map(([id, { length: times }]) => ({ id, times }));
  transaction.execute(countStatement, [JSON.stringify(sums)]);
  const { schema, messageOf } = SHOWN_CONTENTS;
  outbox.append(transaction, factEvents(SUBJECT, schema, rows, messageOf));
}
