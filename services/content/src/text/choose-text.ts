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
  "text_sends_choose",
  `insert into text_sends (hash, sms_id, contact_id, chosen_contact_id, occasion, source, source_id, content)
   select $1::uuid, s.id, $3::integer, $3::integer, $4, $5, $6::integer, $7 from smses s where s.id = $2::integer
   on conflict do nothing returning hash`,
);

/** Chooses a contact for a text message. Returns the name of the send; undefined where the occasion has one, or the text message is gone. */
export async function chooseText(
  transaction: Transaction,
  { smsId, contactId, occasion, source, sourceId, content }: ChosenText,
  now: number,
): Promise<string | undefined> {
  const values = [newFactId(now).id, smsId, contactId, occasion, source, sourceId, content];
  const [row] = await transaction.query(chooseStatement, values);
  return row?.hash ?? undefined;
}
