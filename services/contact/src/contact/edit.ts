import { type Database, prepared } from "@tidings/database/database";
import { dateTimeText } from "@tidings/database/timestamp";
import type { Transaction } from "@tidings/database/transaction";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { Call } from "@tidings/rpc/call";
import { requireExpected } from "@tidings/rpc/expected";
import { Code, Fault } from "@tidings/rpc/fault";
import { assertCurrent, type FieldCatalogue, type FieldSet, underCatalogue } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { reachedRow } from "../record/reach.ts";
import { writeChanges } from "../record/write.ts";
import { type ContactRow, contactTable } from "../rows/contact.ts";
import { stampEdited } from "./apply.ts";
import { writeCompanyLinks } from "./company-link.ts";
import { contactSaved } from "./events.ts";
import type { ContactContext } from "./save.ts";

export interface Editing {
  transaction: Transaction;
  set: FieldSet;
  /** In the text form of a timestamptz. */
  now: string;
}

/**
 * Changes one contact beyond what a body can say: `edit` gets the locked row and answers the new one. Throws NOT_FOUND
 * and PERMISSION_DENIED. The id of a merged contact means the one it became part of.
 */
export function editContact(
  context: ContactContext,
  id: number,
  call: Call,
  edit: (row: ContactRow, editing: Editing) => Promise<ContactRow> | ContactRow,
): Promise<ContactRow> {
  const work = (contactId: number, catalogue: FieldCatalogue) => {
    const set = catalogue.contact;
    return context.database.transaction(call.deadlineMs, async (transaction) => {
      const [stored] = await contactTable.lock(transaction, [contactId], []);
      assertCurrent(catalogue, stored ? [stored] : []);
      const before = reachedRow(call, Verb.EDIT, stored && withCustomValues(stored, set), "owner_id");
      requireExpected(call, ContactSchema.typeName, { id, version: Number(before.version) });
      const now = dateTimeText(Date.now());
      const row = stampEdited(before, await edit({ ...before }, { transaction, set, now }), call.actor, now);
      if (row === "unchanged") return before;
      const changes = [{ before, row }];
      writeChanges(transaction, contactTable, set, changes);
      writeCompanyLinks(transaction, changes);
      context.outbox.append(transaction, [contactSaved({ before, row }, set)]);
      return row;
    });
  };
  return followMerge(context.database, id, call, (contactId) =>
    underCatalogue(context.catalogues, (catalogue) => work(contactId, catalogue)),
  );
}

const redirectStatement = prepared(
  "contact_redirects_get",
  "select contact_id from contact_redirects where merged_id = $1",
);

/** The contact that a merged one became part of; undefined when this one was never merged. */
export async function survivorOf(database: Database, id: number, call: Call): Promise<number | undefined> {
  const [row] = await database.query(redirectStatement, [id], call.deadlineMs);
  return row ? Number(row.contact_id) : undefined;
}

/** Does something with a contact; when it is not there, with the one it was merged into. */
export async function followMerge<T>(
  database: Database,
  id: number,
  call: Call,
  work: (id: number) => Promise<T>,
): Promise<T> {
  try {
    return await work(id);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== Code.NOT_FOUND) throw error;
    const survivor = await survivorOf(database, id, call);
    if (survivor === undefined) throw error;
    // It was changed since: it is no more.
    requireExpected(call, ContactSchema.typeName, { id, version: undefined });
    return work(survivor);
  }
}
