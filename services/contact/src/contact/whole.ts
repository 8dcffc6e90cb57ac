import { prepared, type Queryable } from "@tidings/database/database";
import type { FieldSet } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";
import { type ContactRow, WHOLE_CONTACT_SELECT } from "../rows/contact.ts";

const statement = prepared(
  "contacts_whole",
  `select ${WHOLE_CONTACT_SELECT} from contacts c
   where c.id = any (array(select unnest($1::integer[]))) order by c.id`,
);

/** Contacts with everything that their events carry, by ids; deleted ones are left out. */
export async function wholeContacts(
  query: Queryable["query"],
  set: FieldSet,
  ids: number[],
): Promise<ContactRow[]> {
  const rows = await query(statement, [ids]);
  return rows.map((row) => withCustomValues(row, set));
}
