import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { newFactId } from "../visit/hit.ts";

/** One contact who gets one text message. */
export interface ChosenText {
  smsId: number;
  contactId: number;
  /** Names why: `direct:<uuid>`. A contact gets a text message once for each. */
  occasion: string;
  source: string;
  sourceId: number;
  /** The text as the contact gets it. */
  content: string;
}

const chooseStatement = prepared(
  "text_sends_choose_contacts",
  `insert into text_sends (hash, sms_id, contact_id, chosen_contact_id, occasion, source, source_id, content)
   select r.hash, s.id, r.contact_id, r.contact_id, r.occasion, r.source, r.source_id, r.content
   from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::text[], $6::integer[], $7::text[])
     as r (hash, sms_id, contact_id, occasion, source, source_id, content)
   join smses s on s.id = r.sms_id
   order by r.contact_id
   on conflict do nothing returning hash`,
);

/** Chooses contacts for text messages. Returns the names of those whose occasion had no send yet, and whose text message is there. */
export async function chooseTexts(
  transaction: Transaction,
  chosen: ChosenText[],
  now: number,
): Promise<(string | undefined)[]> {
  if (chosen.length === 0) return [];
  const hashes = chosen.map(() => newFactId(now).id);
  const rows = await transaction.query(chooseStatement, [
    hashes,
    chosen.map(({ smsId }) => smsId),
    chosen.map(({ contactId }) => contactId),
    chosen.map(({ occasion }) => occasion),
    chosen.map(({ source }) => source),
    chosen.map(({ sourceId }) => sourceId),
    chosen.map(({ content }) => content),
  ]);
  const made = new Set(rows.map(({ hash }) => hash));
  return hashes.map((hash) => (made.has(hash) ? hash : undefined));
}

/** Chooses a contact for a text message. Returns the name of the send; undefined where the occasion has one, or the text message is gone. */
export async function chooseText(
  transaction: Transaction,
  chosen: ChosenText,
  now: number,
): Promise<string | undefined> {
  return (await chooseTexts(transaction, [chosen], now))[0];
}
