import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import type { ContactIds } from "./contact-ids.ts";

/**
 * SQL of a migration: devices that sent nothing but spam so far, and the ids that they were shown. None of these is a contact; the device
 * gets that id when it becomes a visitor.
 */
export const PROMISED_VISITORS = [
  `create table promised_visitors (
    device_id text primary key, reserved_id integer not null, date_added timestamptz not null default now())`,
  "create index promised_visitors_age on promised_visitors (date_added)",
];

const shownStatement = prepared(
  "visitor_devices_shown",
  "select shown_contact_id from visitor_devices where id = $1",
);
const promiseStatement = prepared(
  "promised_visitors_add",
  `insert into promised_visitors as p (device_id, reserved_id) values ($1, $2)
   on conflict (device_id) do update set date_added = now() returning p.reserved_id`,
);

/** The contact that a device is shown to be, without noting that it was seen: nothing is to follow from this visit. */
export async function seemingContact(
  transaction: Transaction,
  ids: ContactIds,
  deviceId: string,
): Promise<number> {
  const [known] = await transaction.query(shownStatement, [deviceId]);
  return Number(known ? known.shown_contact_id : await promise(transaction, ids, deviceId));
}

async function promise(transaction: Transaction, ids: ContactIds, deviceId: string) {
  const [id] = await ids.take(1);
  const [promised] = await transaction.query(promiseStatement, [deviceId, id]);
  return promised?.reserved_id;
}

const keepStatement = prepared(
  "promised_visitors_keep",
  "delete from promised_visitors where device_id = any ((select $1::text[])::text[]) returning device_id, reserved_id",
);

/** The ids that these devices were shown, each once. */
export async function promisedIds(
  transaction: Transaction,
  deviceIds: string[],
): Promise<Map<string, number>> {
  if (deviceIds.length === 0) return new Map();
  const rows = await transaction.query(keepStatement, [deviceIds]);
  return new Map(rows.map((row) => [row.device_id ?? "", Number(row.reserved_id)]));
}
