import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

/**
 * SQL of a migration: contacts of which it is being found out whether they are another one, by what a visitor said. Until that is known, and the devices are
 * given to their contact, no device that has proven to be such a contact is shown anything: the other one may be a part of it already.
 */
export const WITHHELD_PROOFS = [
  `create table withheld_proofs (
    key text not null, shown_contact_id integer not null, date_added timestamptz not null default now(),
    primary key (key, shown_contact_id))`,
  "create index withheld_proofs_of_contact on withheld_proofs (shown_contact_id)",
];

/** SQL: does the device `d` have a proof that holds now? Devices with a proof show the id of the contact that it is of. */
export const HAS_PROOF = `(d.is_proven and not exists (select from withheld_proofs w where w.shown_contact_id = d.shown_contact_id))`;

/** A search for the contact that somebody is, and the contact that they were so far. */
export interface Search {
  key: string;
  contactId: number;
}

/** A contact has the devices of those that were merged into it, too. */
const withholdStatement = prepared(
  "withheld_proofs_add",
  `with x as materialized (select * from json_to_recordset($1::json) as x (key text, contact_id integer))
   insert into withheld_proofs (key, shown_contact_id)
   select key, contact_id from x
   union select x.key, f.contact_id from x join contact_fates f on f.merged_into_id = x.contact_id
   on conflict do nothing`,
);

/** Withholds the proofs of contacts, in the transaction that plans the search. */
export function withholdProofs(transaction: Transaction, searches: Search[]): void {
  const rows = searches
    .filter(({ contactId }) => contactId > 0)
    .map(({ key, contactId }) => ({ key, contact_id: contactId }));
  if (rows.length > 0) transaction.execute(withholdStatement, [JSON.stringify(rows)]);
}

const provenBeforeStatement = prepared(
  "withheld_proofs_before",
  `select from visitor_devices d where d.id = $1 and d.is_proven and not exists (
     select from withheld_proofs w where w.shown_contact_id = d.shown_contact_id and w.key <> $2)`,
);

/** Does the device have a proof that no other search withholds? */
export async function isProvenBefore(
  database: Database,
  { key, deviceId }: { key: string; deviceId: string },
): Promise<boolean> {
  return (await database.query(provenBeforeStatement, [deviceId, key], backgroundDeadline())).length > 0;
}

const giveBackStatement = prepared(
  "withheld_proofs_give_back",
  "delete from withheld_proofs where key = any ($1::text[]) returning key, shown_contact_id",
);

/** Ends searches, and answers the contacts whose proofs each of them withheld. */
export async function giveBackProofs(
  transaction: Transaction,
  keys: string[],
): Promise<ReadonlyMap<string, number[]>> {
  const rows = await transaction.query(giveBackStatement, [keys]);
  const byKey = Map.groupBy(rows, ({ key }) => key ?? "");
  return new Map(
    [...byKey].map(([key, ofKey]) => [key, ofKey.map(({ shown_contact_id: id }) => Number(id))]),
  );
}
