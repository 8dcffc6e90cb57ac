import { type Database, prepared } from "@tidings/store/database";
import { CONTACT_SELECT, type ContactRow } from "./row.ts";

const currentStatement = prepared(
  "contacts_current",
  `select ${CONTACT_SELECT} from contacts c where c.id = any (array(select unnest($1::integer[])))`,
);

/** Contacts as they are now, by their ids; those that are gone are left out. */
export async function currentRows(
  database: Database,
  ids: number[],
  deadlineMs: number,
): Promise<Map<number, ContactRow>> {
  if (ids.length === 0) return new Map();
  const rows = await database.query(currentStatement, [ids], deadlineMs);
  return new Map(rows.map((row) => [Number(row.id), row]));
}
