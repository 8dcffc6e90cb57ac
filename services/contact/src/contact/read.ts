import { type Database, prepared } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import { rowById } from "@tidings/resource/row-by-id";
import type { Call } from "@tidings/rpc/call";
import { reachedRow } from "../record/reach.ts";
import { CONTACT_SELECT, type ContactRow } from "../rows/contact.ts";

const currentStatement = prepared(
  "contacts_current",
  `select ${CONTACT_SELECT} from contacts c where c.id = any (array(select unnest($1::integer[])))`,
);

/** A contact as it is now. Throws NOT_FOUND when it is not there for the caller. */
export async function readContact(database: Database, id: number, call: Call): Promise<ContactRow> {
  const row = await rowById(database, currentStatement, { id, deadlineMs: call.deadlineMs });
  return reachedRow(call, Verb.VIEW, row, "owner_id");
}

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
