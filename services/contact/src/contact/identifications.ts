import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { keepLatest } from "../rows/keep-latest.ts";

/** A reason why something is known to be of a contact. `proof` is one of `tidings.contact.v1.Identification`. */
export interface NewIdentification {
  contactId: number;
  /** Milliseconds since the epoch. */
  at: number;
  proof: string;
  /** The random id of the browser; empty where no browser was involved. */
  deviceId: string;
  /** The contact that became a part of this one. */
  mergedFrom?: number;
}

/** SQL of a migration. A reason is kept once, at the time when it was there first. */
export const IDENTIFICATIONS_TABLE = [
  `create table contact_identifications (
    id bigint generated always as identity primary key, contact_id integer not null references contacts on delete cascade,
    date_added timestamptz not null, proof text not null, device_id text not null default '', merged_from integer not null default 0)`,
  "create unique index contact_identifications_once on contact_identifications (contact_id, proof, device_id, merged_from)",
];

/** Strangers who type the address of a contact on many browsers fill no table: of each contact the latest ones are kept. */
const KEPT_MAX = 1_000;

const insertStatement = prepared(
  "contact_identifications_add",
  `insert into contact_identifications (contact_id, date_added, proof, device_id, merged_from)
   select c.id, x.date_added, x.proof, x.device_id, x.merged_from
   from json_to_recordset($1::json) as x (contact_id integer, date_added timestamptz, proof text, device_id text, merged_from integer)
   join contacts c on c.id = x.contact_id
   order by x.contact_id, x.proof, x.device_id, x.merged_from on conflict do nothing`,
);
const trimStatement = keepLatest("contact_identifications", "date_added desc, id desc", KEPT_MAX);

/** Notes why something is known to be of contacts, in the transaction by which it is. Contacts that are not there are left out. */
export function noteIdentifications(transaction: Transaction, noted: NewIdentification[]): void {
  if (noted.length === 0) return;
  const rows = noted.map(({ contactId, at, proof, deviceId, mergedFrom = 0 }) => ({
    contact_id: contactId,
    date_added: new Date(at).toISOString(),
    proof,
    device_id: deviceId,
    merged_from: mergedFrom,
  }));
  transaction.execute(insertStatement, [JSON.stringify(rows)]);
  transaction.execute(trimStatement, [[...new Set(noted.map(({ contactId }) => contactId))]]);
}
