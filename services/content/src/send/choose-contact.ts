import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { newFactId } from "../visit/hit.ts";
import { assignEmails } from "./assign-emails.ts";
import { FAMILY_OF } from "./email-family.ts";
import { keptRevisions } from "./email-revision.ts";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, sendEvents } from "./send-facts.ts";
import { Lane } from "./send-tables.ts";

/** One contact who gets one email. */
export interface ChosenContact {
  emailId: number;
  contactId: number;
  /** Names why: `direct:<key or uuid>`, `form:<submission>:<action>`. A contact gets one mail of a family of emails for each. */
  occasion: string;
  source: string;
  sourceId: number;
  /** Values of tokens as HTML, by name. */
  tokens: Record<string, string>;
  /** Assets in place of those of the email. */
  attachments?: number[] | undefined;
  /** Limits hold it back, and it may be unsubscribed from with one click. */
  isBulk?: boolean;
  /** The address that gets it; the contact's present one when absent. */
  address?: string;
}

interface Choosing {
  transaction: Transaction;
  outbox: Outbox;
  now: number;
}

const chooseStatement = prepared(
  "sends_choose_contacts",
  `with ${keptRevisions("$2::integer[]")}
   insert into sends (hash, email_id, email_version, family_id, contact_id, chosen_contact_id, occasion, lane, source, source_id, tokens, attachments, address)
   select r.hash, e.id, e.version, ${FAMILY_OF}, r.contact_id, r.contact_id, r.occasion, r.lane, r.source, r.source_id, r.tokens, r.attachments, r.address
   from jsonb_to_recordset($1::jsonb) as r (hash uuid, email_id integer, contact_id integer, occasion text, lane smallint, source text,
     source_id integer, tokens jsonb, attachments integer[], address text)
   join emails e on e.id = r.email_id
   order by r.contact_id
   on conflict do nothing returning ${FACT_COLUMNS}`,
);

/** Chooses contacts for emails. Returns the names of those whose occasion had no send yet, and whose email is there. */
export async function chooseContacts(
  { transaction, outbox, now }: Choosing,
  chosen: ChosenContact[],
): Promise<(string | undefined)[]> {
  if (chosen.length === 0) return [];
  const ids = [...new Set(chosen.map(({ emailId }) => emailId))];
  const hashes = chosen.map(() => newFactId(now).id);
  const values = chosen.map((one, index) => ({
    ...{ hash: hashes[index], email_id: one.emailId, contact_id: one.contactId, occasion: one.occasion },
    ...{ source: one.source, source_id: one.sourceId, tokens: one.tokens, attachments: one.attachments },
    ...{ lane: one.isBulk ? Lane.BULK : Lane.DIRECT, address: one.address },
  }));
  const rows = await transaction.query(chooseStatement, [JSON.stringify(values), ids]);
  const emails = await emailsOfSends(transaction, idsOfEmails(rows));
  outbox.append(transaction, sendEvents("queued", rows, emails));
  const made = new Set(rows.map(({ hash }) => hash));
  return hashes.map((hash) => (made.has(hash) ? hash : undefined));
}

/**
 * Chooses a contact for an email of a family: of an A/B test the variant that is due, and of that one the translation for the locale. Returns the name of the send;
 * undefined where the occasion has one, or the email is gone.
 */
export async function chooseMember(
  choosing: Choosing,
  chosen: ChosenContact,
  locale: string,
): Promise<string | undefined> {
  const family = { emailId: chosen.emailId, isDecided: false };
  const [emailId = chosen.emailId] = await assignEmails(choosing.transaction, family, [{ locale }]);
  return (await chooseContacts(choosing, [{ ...chosen, emailId }]))[0];
}
