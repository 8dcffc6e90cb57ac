import { type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { newFactId } from "../visit/hit.ts";
import { assignEmails } from "./assign-emails.ts";
import { keepRevisions } from "./email-revision.ts";
import { emailsOfSends, FACT_COLUMNS, sendEvents } from "./send-facts.ts";
import { Lane } from "./send-tables.ts";

/** A member of a segment who may get an email. */
export interface Recipient {
  contactId: number;
  address: string;
  locale: string;
  segmentId: number;
}

export interface Choosing {
  transaction: Transaction;
  outbox: Outbox;
  now: number;
  broadcastId: string;
  emailId: number;
  familyId: number;
}

/** The occasion of a send to segments: a contact, and an address, gets one mail of a family. */
const LIST = "list";

/** SQL: a send of the family to a contact that was merged into this one. */
const MERGED_SEND = (familyId: string) =>
  `select from sends s where s.contact_id = r.contact_id and s.family_id = ${familyId} and s.occasion = '${LIST}'`;

/** Members of a slice without a mail of the family: neither they, nor a contact that was merged into them, nor their address have one. */
const freshStatement = prepared(
  "sends_fresh",
  `select r.contact_id from unnest($2::integer[], $3::text[]) as r (contact_id, address)
   where not exists (select from sends s where s.family_id = $1 and s.chosen_contact_id = r.contact_id and s.occasion = '${LIST}')
     and not exists (select from sends s where s.family_id = $1 and lower(s.address) = lower(r.address) and s.occasion = '${LIST}')
     and not exists (${MERGED_SEND("$1")})`,
);
const chooseStatement = prepared(
  "sends_choose",
  `insert into sends (hash, email_id, email_version, family_id, broadcast_id, contact_id, chosen_contact_id, occasion, lane, address, list_id, source, source_id)
   select r.hash, e.id, e.version, $6::integer, $7::uuid, r.contact_id, r.contact_id, '${LIST}', ${Lane.BULK}, r.address, r.list_id, 'broadcast', e.id
   from unnest($1::uuid[], $2::integer[], $3::integer[], $4::text[], $5::integer[]) as r (hash, email_id, contact_id, address, list_id)
   join emails e on e.id = r.email_id
   where not exists (${MERGED_SEND("$6::integer")})
   on conflict do nothing returning ${FACT_COLUMNS}`,
);

/** The members of a slice who have no mail of the family yet. */
export async function freshRecipients(
  database: Database,
  familyId: number,
  slice: Recipient[],
  deadlineMs: number,
): Promise<Recipient[]> {
  if (slice.length === 0) return [];
  const asked = [familyId, slice.map(({ contactId }) => contactId), slice.map(({ address }) => address)];
  const rows = await database.query(freshStatement, asked, deadlineMs);
  const fresh = new Set(rows.map(({ contact_id }) => Number(contact_id)));
  return slice.filter(({ contactId }) => fresh.has(contactId));
}

/** Chooses fresh recipients for an email, `most` at most. Returns how many were chosen: each contact and each address once for a family. */
export async function chooseRecipients(
  choosing: Choosing,
  fresh: Recipient[],
  most: number,
): Promise<number> {
  const { transaction, outbox, now, broadcastId, emailId, familyId } = choosing;
  const recipients = fresh.slice(0, most);
  if (recipients.length === 0) return 0;
  const emailIds = await assignEmails(transaction, emailId, recipients);
  keepRevisions(transaction, [...new Set(emailIds)]);
  const chosen = await transaction.query(chooseStatement, [
    recipients.map(() => newFactId(now).id),
    emailIds,
    recipients.map(({ contactId }) => contactId),
    recipients.map(({ address }) => address),
    recipients.map(({ segmentId }) => segmentId),
    familyId,
    broadcastId,
  ]);
  outbox.append(transaction, sendEvents("queued", chosen, await emailsOfSends(transaction, emailIds)));
  return chosen.length;
}
