import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { newFactId } from "../visit/hit.ts";

/** Contacts who get a marketing message. */
export interface ChosenMessage {
  messageId: number;
  contactIds: number[];
  /** Names why: `direct:<key or uuid>`. A contact gets a message once for each. */
  occasion: string;
  source: string;
  sourceId: number;
  /** Its mails are behind the limits of their contacts. */
  isBulk: boolean;
}

const chooseStatement = prepared(
  "message_sends_choose",
  `insert into message_sends (hash, message_id, contact_id, chosen_contact_id, occasion, is_bulk, source, source_id, channels)
   select r.hash, m.id, r.contact_id, r.contact_id, $4, $5::boolean, $6, $7::integer,
     (select coalesce(jsonb_agg(jsonb_build_object('channel', c ->> 'channel', 'itemId', (c ->> 'channel_id')::integer) order by place), '[]')
      from jsonb_array_elements(m.channels) with ordinality as e (c, place) where (c ->> 'is_enabled')::boolean and c ->> 'channel_id' is not null)
   from unnest($1::uuid[], $2::integer[]) as r (hash, contact_id) join marketing_messages m on m.id = $3::integer
   order by r.contact_id
   on conflict do nothing returning hash`,
);

/** Chooses contacts for a marketing message. Returns the names of those whose occasion had none yet. */
export async function chooseMessages(
  transaction: Transaction,
  { messageId, contactIds, occasion, source, sourceId, isBulk }: ChosenMessage,
  now: number,
): Promise<Set<string>> {
  const hashes = contactIds.map(() => newFactId(now).id);
  const values = [hashes, contactIds, messageId, occasion, isBulk, source, sourceId];
  const rows = await transaction.query(chooseStatement, values);
  return new Set(rows.map(({ hash }) => hash ?? ""));
}
