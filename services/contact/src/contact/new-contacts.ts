import { prepared } from "@tidings/database/database";
import { advisoryLocksById } from "@tidings/database/lock";
import { dateTimeText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import type { FieldSet } from "../field/catalogue.ts";
import { setFieldValues } from "../field/values.ts";
import { writeChanges } from "../record/write.ts";
import { type ContactRow, contactTable, EMPTY_CONTACT } from "../rows/contact.ts";
import { contactSaved } from "./events.ts";
import type { ContactContext } from "./save.ts";

/** A contact of whom nothing is known but that somebody was there. */
export interface NewContact {
  /** Taken in advance. */
  id: number;
  /** Milliseconds since the epoch. */
  at: number;
}

const missingStatement = prepared(
  "contacts_not_there",
  `select x.id from unnest((select $1::integer[])) as x (id)
   where not exists (select from contacts c where c.id = x.id)
     and not exists (select from contact_redirects r where r.merged_id = x.id)`,
);

/** Two transactions that begin the same contact at once: the second waits, and finds it. A few locks serve all ids, since a server has few. */
const beginning = advisoryLocksById("new_contacts");
const LOCKS = 64;

/** Has others wait who would begin a contact with one of these ids. Asked for before any contact is locked: those others lock contacts afterwards. */
export function holdBeginnings(transaction: Transaction, ids: number[]): void {
  if (ids.length === 0) return;
  beginning.exclusive(
    transaction,
    ids.map((id) => id % LOCKS),
  );
}

/** Adds contacts under ids that were taken for them. Those that are there already, or were merged into another, are left alone. */
export async function addNewContacts(
  context: ContactContext,
  within: { transaction: Transaction; set: FieldSet },
  contacts: NewContact[],
): Promise<void> {
  holdBeginnings(
    within.transaction,
    contacts.map(({ id }) => id),
  );
  await addHeldContacts(context, within, contacts);
}

/** The same for ids that are held, or that nobody else knows. */
export async function addHeldContacts(
  { outbox }: ContactContext,
  { transaction, set }: { transaction: Transaction; set: FieldSet },
  contacts: NewContact[],
): Promise<void> {
  const wanted = new Map(contacts.map((contact) => [contact.id, contact]));
  if (wanted.size === 0) return;
  const missing = await transaction.query(missingStatement, [[...wanted.keys()]]);
  const changes = missing.flatMap(({ id }) => {
    const contact = wanted.get(Number(id));
    return contact ? [{ before: undefined, row: rowOf(contact, set) }] : [];
  });
  writeChanges(transaction, contactTable, set, changes);
  outbox.append(
    transaction,
    changes.map((change) => contactSaved(change, set)),
  );
}

function rowOf({ id, at }: NewContact, set: FieldSet): ContactRow {
  const seenAt = dateTimeText(at);
  const row: ContactRow = { ...EMPTY_CONTACT, id: String(id), date_added: seenAt, last_active: seenAt };
  setFieldValues(row, new Map(), set, true);
  return row;
}
