import { type Database, prepared, queryable } from "@tidings/database/database";
import { advisoryLocksById } from "@tidings/database/lock";
import { wireAddress } from "@tidings/mail/mail-address";
import type { Outbox } from "@tidings/messaging/outbox";
import { assignEmails } from "../send/assign-emails.ts";
import { chooseContacts } from "../send/choose-contact.ts";
import type { AskContactable } from "../send/contactable.ts";
import { emailsOfOccasion, familyOf } from "../send/emails-of-occasion.ts";
import type { Outcome } from "../send/outcomes.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { type AskedSends, noOf, type OccasionOf, refusedAll, withRefusals } from "./request.ts";

export interface RequestEmailsOptions {
  database: Database;
  outbox: Outbox;
  contacts: KnownContacts;
  askContactable: AskContactable;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once sends are chosen. */
  wake(): void;
}

/** Contacts who have, or will have, a mail of the family: a marketing email is one for each of them, whatever the occasion (engines.md 1.3). */
const receivedStatement = prepared(
  "sends_received",
  `select asked.contact_id from unnest($2::integer[]) as asked (contact_id)
   where exists (select from sends s where s.family_id = $1::integer and s.chosen_contact_id = asked.contact_id and s.state <> all ($3::text[]))
     or exists (select from sends s where s.contact_id = asked.contact_id and s.family_id = $1::integer and s.state <> all ($3::text[]))`,
);
/** They got nothing: another occasion may try. */
const NOTHING_SENT = ["failed", "suppressed", "cancelled"];
/** Two requests for one family follow each other: a contact has a marketing email once, and counts of variants are exact. */
const families = advisoryLocksById("sends asked for");

interface Addressed {
  contactId: number;
  address: string;
  locale: string;
}

/** Chooses contacts for an email (engines.md 1.3). One answer for each, in their order. */
export async function requestEmails(
  options: RequestEmailsOptions,
  asked: AskedSends,
  deadlineMs: number,
): Promise<Outcome[]> {
  const { database, outbox, hasTransport, wake } = options;
  const { itemId, occasion, contactIds, isMarketing, source, sourceId, tokens } = asked;
  const family = await familyOf(queryable(database, deadlineMs), itemId);
  if (!family.isOpen) return refusedAll(contactIds, "unpublished");
  const standing = await emailsOfOccasion(queryable(database, deadlineMs), asked);
  const known = new Set(standing.map(({ contactId }) => contactId));
  const fresh = contactIds.filter((contactId) => !known.has(contactId));
  const refusals = new Map<number, string>();
  const addressed = hasTransport ? await addressesOf(options, { ...asked, contactIds: fresh }, refusals) : [];
  if (!hasTransport) for (const contactId of fresh) refusals.set(contactId, "no_transport");
  const made = await database.transaction(deadlineMs, async (transaction) => {
    if (addressed.length === 0) return new Set<string>();
    families.exclusive(transaction, [family.id]);
    const ids = addressed.map(({ contactId }) => contactId);
    const rows = isMarketing
      ? await transaction.query(receivedStatement, [family.id, ids, NOTHING_SENT])
      : [];
    for (const { contact_id } of rows) refusals.set(Number(contact_id), "already_received");
    // Another call may have chosen some since they were looked up.
    const since = await emailsOfOccasion(transaction, { ...asked, contactIds: ids });
    const chosenSince = new Set(since.map(({ contactId }) => contactId));
    for (const contactId of chosenSince) refusals.delete(contactId);
    const chosen = addressed.filter(
      ({ contactId }) => !refusals.has(contactId) && !chosenSince.has(contactId),
    );
    const emailIds = await assignEmails(transaction, { emailId: itemId, isDecided: false }, chosen);
    const sends = chosen.map(({ contactId, address }, index) => ({
      ...{ contactId, address, occasion, source, sourceId, tokens, isBulk: isMarketing },
      emailId: emailIds[index] ?? itemId,
    }));
    const hashes = await chooseContacts({ transaction, outbox, now: database.now() }, sends);
    for (const [index, { contactId }] of chosen.entries())
      if (!hashes[index]) refusals.set(contactId, "address_taken");
    transaction.afterCommit(wake);
    return new Set(hashes.filter((hash) => hash !== undefined));
  });
  const outcomes = await emailsOfOccasion(queryable(database, deadlineMs), asked);
  return withRefusals(contactIds, outcomes, { made, refusals });
}

/** Contacts who may be written to, with their addresses; the reasons of all others are put among the refusals. */
async function addressesOf(
  { contacts, askContactable }: RequestEmailsOptions,
  { itemId, contactIds }: OccasionOf,
  refusals: Map<number, string>,
): Promise<Addressed[]> {
  const found = await Promise.all(
    contactIds.map(async (contactId) => {
      const [{ refusal }, fields] = await Promise.all([
        askContactable("email", contactId, itemId),
        contacts.fieldsOf(contactId, ["email", "preferred_locale"]),
      ]);
      const address = wireAddress(fields.get("email") ?? "");
      const no = noOf(refusal) || (address ? "" : "no_address");
      if (no !== "") refusals.set(contactId, no);
      return no === "" && address
        ? [{ contactId, address, locale: fields.get("preferred_locale") ?? "" }]
        : [];
    }),
  );
  return found.flat();
}
