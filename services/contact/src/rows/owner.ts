import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

/** The user `o` a record belongs to, as the API shows it. */
export const OWNER_JSON = `json_build_object('id', o.id, 'username', o.username, 'firstName', o.first_name,
  'lastName', o.last_name, 'createdByUser', null, 'modifiedByUser', null)`;

const OWNERS = prepared(
  "owners_by_id",
  `select o.id, ${OWNER_JSON} as value from owners o where o.id = any (array(select unnest($1::integer[])))`,
);

/** JSON of the users with these ids, as far as there are any. */
export async function ownersById(transaction: Transaction, ids: number[]): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  const rows = await transaction.query(OWNERS, [ids]);
  return new Map(rows.map((row) => [Number(row.id), row.value ?? ""]));
}
