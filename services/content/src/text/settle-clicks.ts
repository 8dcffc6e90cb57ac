import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { recounted } from "../send/ledger-rows.ts";
import type { Hit } from "../visit/hit.ts";
import { SMS_FACTS } from "./sms-facts.ts";

/**
 * Links of a text message name its contact, and no send: they would be longer, and a longer text is sent as more messages. So a click proves a send only where no other
 * one of the text message may have reached the contact.
 */
const settleStatement = prepared(
  "text_sends_clicked",
  `with clicked as (
     select (array_agg(s.id))[1] as id, max(c.ip) as ip from unnest($1::integer[], $2::integer[], $3::text[]) as c (sms_id, contact_id, ip)
     join text_sends s on s.sms_id = c.sms_id and s.chosen_contact_id = c.contact_id and s.state = any (array['sent', 'unknown'])
     group by s.sms_id, s.chosen_contact_id having count(distinct s.id) = 1
   ), settled as (
     update text_sends s set state = 'sent', version = s.version + 1, lease_token = s.lease_token + 1, date_sent = s.started_at,
       ip = coalesce(s.ip, nullif(c.ip, ''))
     from (select * from clicked order by id) c where s.id = c.id and s.state = 'unknown' returning s.*
   ), located as (
     update text_sends s set ip = c.ip, version = s.version + 1
     from (select * from clicked order by id) c where s.id = c.id and s.state = 'sent' and s.ip is null and c.ip <> '' returning s.*
   ), ${recounted("settled")} counted as (
     update smses m set sent_count = m.sent_count + c.sent
     from (select sms_id, count(*)::integer as sent from settled group by sms_id order by sms_id) c where m.id = c.sms_id)
   select true as is_settled, ${SMS_FACTS.columns} from settled union all select false, ${SMS_FACTS.columns} from located`,
);

/** A followed link proves that its text message arrived, whoever followed it. */
export async function settleClicks(transaction: Transaction, outbox: Outbox, hits: Hit[]): Promise<void> {
  const clicks = hits.flatMap(({ source, sourceId, provenContactId, verdict, ip }) =>
    source === "sms" && sourceId !== undefined && provenContactId !== undefined
      ? [{ sourceId, provenContactId, ip: verdict === "machine" ? "" : ip }]
      : [],
  );
  if (clicks.length === 0) return;
  const rows = await transaction.query(settleStatement, [
    clicks.map(({ sourceId }) => sourceId),
    clicks.map(({ provenContactId }) => provenContactId),
    clicks.map(({ ip }) => ip),
  ]);
  if (rows.length === 0) return;
  const smses = await SMS_FACTS.itemsOf(
    transaction,
    rows.map(({ sms_id }) => Number(sms_id)),
  );
  const settled = rows.filter(({ is_settled }) => is_settled === "t");
  const located = rows.filter(({ is_settled }) => is_settled === "f");
  outbox.append(transaction, [
    ...SMS_FACTS.events("sent", settled, smses),
    ...SMS_FACTS.events("clicked", located, smses),
  ]);
}
