import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import { type Contact, ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { FieldContext } from "../field/catalogue.ts";
import { companySaved } from "../record/company-events.ts";
import type { RecordKind, RowChange } from "../record/kind.ts";
import { type RecordSaver, recordSaver } from "../record/save.ts";
import { writeChanges } from "../record/write.ts";
import { companyTable } from "../rows/company.ts";
import { companiesOf, contactTable, EMPTY_CONTACT, tagsOf } from "../rows/contact.ts";
import { tagCreated } from "../tag/tag.ts";
import { applyChange } from "./apply.ts";
import { type ContactChange, readContactChange } from "./body.ts";
import { writeCompanyLinks } from "./company-link.ts";
import { contactSaved } from "./events.ts";
import { type ContactLookups, lookUpForContacts } from "./look-up.ts";
import { liftSuppressions, type SuppressionKey } from "./suppression.ts";

/** The context of every operation on contacts. */
export interface ContactContext extends FieldContext {
  suppressionKey: SuppressionKey;
}

/** Saves contacts with the tags, addresses and companies they name. */
export function contactSaver(context: ContactContext): RecordSaver<Contact> {
  return recordSaver(context, contactKind(context));
}

function contactKind({
  outbox,
  suppressionKey,
}: ContactContext): RecordKind<Contact, ContactChange, ContactLookups> {
  return {
    type: ContactSchema.typeName,
    table: contactTable,
    ownerColumn: "owner_id",
    empty: EMPTY_CONTACT,
    fieldsOf: ({ contact }) => contact,
    read: readContactChange,
    lookUp: (transaction, changes, call) => lookUpForContacts(transaction, changes, call, suppressionKey),
    apply: applyChange,
    writeRest(transaction, changes, lookups, { company: companyFields }) {
      writeNewTags(transaction, changes, lookups, outbox);
      liftSuppressions(transaction, lookups.lifts, suppressionKey);
      // Not those that only a refused contact named.
      const linked = new Set(changes.flatMap(({ row }) => companiesOf(row).map(({ id }) => String(id))));
      const companies = lookups
        .newCompanies()
        .filter(({ id }) => linked.has(String(id)))
        .map((row) => ({ before: undefined, row }));
      writeChanges(transaction, companyTable, companyFields, companies);
      writeCompanyLinks(transaction, changes);
      outbox.append(
        transaction,
        companies.map((change) => companySaved(change, companyFields)),
      );
    },
    event: contactSaved,
  };
}

const deleteTags = prepared("tags_delete_unused", "delete from tags where id = any ($1::integer[])");

/** Appends events of the tags that were made for these contacts, and deletes tags that only a refused contact named. */
function writeNewTags(
  transaction: Transaction,
  changes: RowChange[],
  lookups: ContactLookups,
  outbox: Outbox,
): void {
  const made = lookups.newTags();
  if (made.length === 0) return;
  const used = new Set(changes.flatMap(({ row }) => tagsOf(row).map(({ id }) => id)));
  const unused = made.filter(({ id }) => !used.has(id));
  if (unused.length > 0) transaction.execute(deleteTags, [unused.map(({ id }) => id)]);
  outbox.append(transaction, made.filter(({ id }) => used.has(id)).map(tagCreated));
}
