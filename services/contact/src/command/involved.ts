import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { holdBeginnings } from "../contact/new-contacts.ts";
import { readContacts } from "../contact/referred.ts";
import type { FieldCatalogue } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { valueClaims } from "../record/identifier.ts";
import { type ContactRow, contactTable } from "../rows/contact.ts";
import type { Claim } from "../rows/table.ts";
import type { Said } from "./said.ts";

/** A contact became a part of another one, or got a value, while its lock was waited for: locked now, it would be locked out of order. */
export class InvolvedSince extends Error {
  override name = "InvolvedSince";
}

const holdersStatement = prepared(
  "contact_identifiers_holders",
  `select i.field, i.value, i.contact_id from unnest($1::text[], $2::text[]) as x (field, value)
   join contact_identifiers i on i.field = x.field and i.value = x.value`,
);

/** The ids of the contacts that have unique values, by the keys of the values. */
export async function holdersOf(
  { query }: Pick<Transaction, "query">,
  claims: Claim[],
): Promise<Map<string, string>> {
  if (claims.length === 0) return new Map();
  const rows = await query(holdersStatement, [
    claims.map(({ field }) => field),
    claims.map(({ value }) => value),
  ]);
  return new Map(rows.map(({ field, value, contact_id }) => [`${field}\n${value}`, contact_id ?? ""]));
}

/**
 * Locks all contacts that an identification may read or change: the visitor, the one that their browser began, and those with one of their unique
 * values. They are locked at once in the order of their ids, so that visitors who become one another never wait for each other. Returns those with
 * one of the values. Throws InvolvedSince when another one has come in meanwhile; its locks go with the savepoint.
 */
export async function lockInvolved(
  { transaction, catalogue }: { transaction: Transaction; catalogue: FieldCatalogue },
  { contactId, command, values }: Pick<Said, "contactId" | "command" | "values">,
): Promise<ContactRow[]> {
  const claims = valueClaims(catalogue.contact, values);
  const named = [command.isKiosk ? 0 : contactId, command.mergedId ?? 0].filter((id) => id > 0);
  const there = await readContacts(transaction.query, named);
  holdBeginnings(
    transaction,
    named.filter((id) => !there.has(id)),
  );
  const ids = [...there.values()].map(({ id }) => Number(id));
  const rows = await contactTable.lock(transaction, ids, claims);
  const [now, holders] = await Promise.all([
    readContacts(transaction.query, named),
    holdersOf(transaction, claims),
  ]);
  const locked = new Map(rows.map((row) => [row.id, row]));
  const holderIds = new Set(holders.values());
  for (const id of [...[...now.values()].map(({ id }) => id), ...holderIds])
    if (!locked.has(id)) throw new InvolvedSince();
  return [...holderIds].flatMap((id) => {
    const row = locked.get(id);
    return row ? [withCustomValues(row, catalogue.contact)] : [];
  });
}
