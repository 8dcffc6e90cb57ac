import { prepared, type Transaction } from "@tidings/store/database";
import type { Field, FieldCatalogue } from "./field.ts";
import { CONTACT_SELECT, type ContactRow } from "./row.ts";

/** A value of a unique field in the form in which no two contacts may share it. */
export interface Claim {
  key: string;
  field: string;
  value: string;
}

/** A claim and the contact that has it, or is to have it. */
export interface OwnClaim extends Claim {
  contactId: number;
}

export function claimOf(field: Field, value: string | null | undefined): Claim | undefined {
  if (!value) return undefined;
  const normalised = value.trim().toLowerCase();
  return { key: `${field.alias}\n${normalised}`, field: field.alias, value: normalised };
}

/** What a contact has claimed: its rows of contact_identifiers follow from its columns. */
export function claimsOf(catalogue: FieldCatalogue, row: ContactRow): OwnClaim[] {
  return catalogue.identifiers.flatMap((field) => {
    const claim = claimOf(field, row[field.alias]);
    return claim ? [{ ...claim, contactId: Number(row.id) }] : [];
  });
}

export function identifierClaims(
  catalogue: FieldCatalogue,
  values: ReadonlyMap<string, string | null>,
): Claim[] {
  return catalogue.identifiers.flatMap((field) => claimOf(field, values.get(field.alias)) ?? []);
}

// The sub-selects hide the lengths of the arrays from the planner: it would plan anew for every call, which takes it as
// long as running the statement.
const lockById = prepared(
  "contacts_lock_by_id",
  `select ${CONTACT_SELECT} from contacts c
   where c.id = any (array(select unnest($1::integer[]))) order by c.id for update of c`,
);

const lockByIdOrIdentifier = prepared(
  "contacts_lock",
  `select ${CONTACT_SELECT} from contacts c
   where c.id in (
     select unnest((select $1::integer[]))
     union
     select i.contact_id from contact_identifiers i
     join unnest((select $2::text[]), (select $3::text[])) as w(field, value) on i.field = w.field and i.value = w.value)
   order by c.id for update of c`,
);

/**
 * Locks the contacts with these ids or identifiers, always in the same order, so that batches do not deadlock. A contact
 * that gave its identifier up while we waited for it comes back as it is now.
 */
export async function lockMatching(
  transaction: Transaction,
  ids: number[],
  claims: Claim[],
): Promise<ContactRow[]> {
  if (claims.length > 0) return transaction.query(lockByIdOrIdentifier, [ids, ...columns(claims)]);
  return ids.length > 0 ? transaction.query(lockById, [ids]) : [];
}

/** Also the second half of inserting contacts. */
export const INSERT_IDENTIFIERS = `insert into contact_identifiers (field, value, contact_id)
  select * from unnest($1::text[], $2::text[], $3::integer[]) as w(field, value, contact_id) order by field, value`;

const insertStatement = prepared("contact_identifiers_insert", INSERT_IDENTIFIERS);

export function insertIdentifiers(transaction: Transaction, claims: OwnClaim[]): void {
  if (claims.length > 0) transaction.execute(insertStatement, ownClaimColumns(claims));
}

export function ownClaimColumns(claims: OwnClaim[]): [string[], string[], number[]] {
  return [...columns(claims), claims.map(({ contactId }) => contactId)];
}

const releaseStatement = prepared(
  "contact_identifiers_release",
  `delete from contact_identifiers where (field, value) in (select * from unnest($1::text[], $2::text[]))`,
);

export function releaseIdentifiers(transaction: Transaction, claims: Claim[]): void {
  if (claims.length > 0) transaction.execute(releaseStatement, columns(claims));
}

function columns(claims: Claim[]): [string[], string[]] {
  return [claims.map(({ field }) => field), claims.map(({ value }) => value)];
}
