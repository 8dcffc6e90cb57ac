import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { newFactId } from "../visit/hit.ts";
import { FAMILY_OF } from "./email-family.ts";
import { keepRevisions } from "./email-revision.ts";
import { emailsOfSends, FACT_COLUMNS, sendEvents } from "./send-facts.ts";
import { Lane } from "./send-tables.ts";

/** One contact who gets one email. */
export interface ChosenContact {
  emailId: number;
  contactId: number;
  /** Names why: `direct:<uuid>`, `form:<submission>:<action>`. A contact gets one mail of a family of emails for each. */
  occasion: string;
  source: string;
  sourceId: number;
  /** Values of tokens as HTML, by name. */
  tokens: Record<string, string>;
  /** Assets in place of those of the email. */
  attachments?: number[] | undefined;
}

const chooseStatement = prepared(
  "sends_choose_contact",
  `insert into sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, source, source_id, tokens, attachments)
   select $1::uuid, e.id, e.version, ${FAMILY_OF}, $3::integer, $3::integer, $4, ${Lane.DIRECT}, $5, $6::integer, $7::jsonb, $8::integer[]
   from emails e where e.id = $2::integer
   on conflict do nothing returning ${FACT_COLUMNS}`,
);

/** Chooses a contact for an email. Returns the name of the send; undefined where the occasion has one, or the email is gone. */
export async function chooseContact(
  { transaction, outbox, now }: { transaction: Transaction; outbox: Outbox; now: number },
  { emailId, contactId, occasion, source, sourceId, tokens, attachments }: ChosenContact,
): Promise<string | undefined> {
  keepRevisions(transaction, [emailId]);
  const { id: hash } = newFactId(now);
  const values = [
    hash,
    emailId,
    contactId,
    occasion,
    source,
    sourceId,
    JSON.stringify(tokens),
    attachments ?? null,
  ];
  const [rows, emails] = await Promise.all([
    transaction.query(chooseStatement, values),
    emailsOfSends(transaction, [emailId]),
  ]);
  outbox.append(transaction, sendEvents("queued", rows, emails));
  return rows.length > 0 ? hash : undefined;
}
