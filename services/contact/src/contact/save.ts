import type { Contact } from "@tidings/proto/tidings/contact/v1/contact";
import type { Call } from "@tidings/rpc/call";
import { companyEvents } from "../company/events.ts";
import { companyTable } from "../company/row.ts";
import {
  type RecordContext,
  type RecordKind,
  type SaveOutcome,
  type SaveRequest,
  saveRecords,
  writeChanges,
} from "../record/save.ts";
import { applyChange } from "./apply.ts";
import { type ContactChange, readContactChange } from "./body.ts";
import { writeCompanyLinks } from "./company-link.ts";
import { contactEvents } from "./events.ts";
import { type ContactLookups, lookUpForContacts } from "./look-up.ts";
import { companiesOf, contactTable, EMPTY_CONTACT } from "./row.ts";
import type { SuppressionKey } from "./suppression.ts";

/** What every operation on contacts works with. */
export interface ContactContext extends RecordContext {
  suppressionKey: SuppressionKey;
}

/** Saves contacts, each on its own, with the tags, addresses and companies they name. */
export function saveContacts(
  context: ContactContext,
  requests: SaveRequest<Contact>[],
  call: Call,
): Promise<SaveOutcome[]> {
  return saveRecords(context, contactKind(context), requests, call);
}

function contactKind({
  outbox,
  suppressionKey,
}: ContactContext): RecordKind<Contact, ContactChange, ContactLookups> {
  return {
    table: contactTable,
    ownerColumn: "owner_id",
    empty: EMPTY_CONTACT,
    fieldsOf: ({ contact }) => contact,
    read: readContactChange,
    lookUp: (transaction, changes, call) => lookUpForContacts(transaction, changes, call, suppressionKey),
    apply: applyChange,
    writeRest(transaction, changes, lookups, { company: companyFields }) {
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
        companies.flatMap((change) => companyEvents(change, companyFields)),
      );
    },
    events: contactEvents,
  };
}
