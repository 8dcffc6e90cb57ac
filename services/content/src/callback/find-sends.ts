import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { wireAddress } from "@tidings/mail/mail-address";
import type { Feedback } from "./feedback.ts";

/** The contact of an event, and the send where it is known which one. */
export interface Found {
  contactId: number;
  /** Undefined where the contact got several mails of late. */
  send: Row | undefined;
}

/** Older mails are not meant by an event that names an address alone. */
const RECENT_DAYS = 7;
/** Enough to see that an address belongs to more than one contact. */
const OF_AN_ADDRESS_MAX = 20;

const byAddressStatement = prepared(
  "sends_by_address",
  `select a.address, min(s.contact_id) as contact_id, min(s.contact_id) = max(s.contact_id) as is_one_contact, case when count(*) = 1 then min(s.hash::text) end as hash
   from unnest($1::text[]) as a (address)
   cross join lateral (select contact_id, hash from sends s
     where lower(s.address) = a.address and s.state in ('sent', 'unknown') and s.started_at > now() - interval '${RECENT_DAYS} days'
     order by s.id desc limit ${OF_AN_ADDRESS_MAX}) s
   group by a.address`,
);
/** Locked in the order in which opens lock them. */
const lockStatement = prepared(
  "sends_of_feedback",
  `select hash, contact_id, email_id, address, state, bounce, extract(epoch from date_bounced) * 1000 as bounced_at,
     extract(epoch from date_complained) * 1000 as complained_at, reason, code
   from sends where hash = any($1::uuid[]) order by id for update`,
);

/**
 * The sends that events are about, by the events' places: by the name of the send, or else by an address that had a mail within 7 days. An
 * address of several contacts is nobody's. A copy of the mail for somebody else is no news of the contact.
 */
export async function findSends(
  transaction: Transaction,
  feedback: Feedback[],
): Promise<(Found | undefined)[]> {
  const unnamed = feedback.filter(({ hash }) => hash === undefined);
  const addresses = [...new Set(unnamed.map(({ address }) => address.toLowerCase()))];
  const byAddress = new Map(
    (addresses.length > 0 ? await transaction.query(byAddressStatement, [addresses]) : []).map((row) => [
      row.address ?? "",
      row,
    ]),
  );
  const hashes = [...feedback, ...byAddress.values()].flatMap(({ hash }) => hash ?? []);
  const sends = new Map(
    (hashes.length > 0 ? await transaction.query(lockStatement, [[...new Set(hashes)]]) : []).map((row) => [
      row.hash ?? "",
      row,
    ]),
  );
  return feedback.map(({ hash, address }) => {
    if (hash === undefined) {
      const found = byAddress.get(address.toLowerCase());
      if (found?.is_one_contact !== "t") return undefined;
      return { contactId: Number(found.contact_id), send: sends.get(found.hash ?? "") };
    }
    const send = sends.get(hash);
    return send && isTo(send, address) ? { contactId: Number(send.contact_id), send } : undefined;
  });
}

function isTo(send: Row, address: string): boolean {
  if (address === "" || !send.address) return true;
  return mailboxOf(send.address) === mailboxOf(address);
}

/** An address as servers compare it: most take upper and lower case for the same. */
function mailboxOf(address: string): string {
  return (wireAddress(address) ?? address).toLowerCase();
}
