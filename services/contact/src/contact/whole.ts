import { prepared } from "@tidings/database/database";
import type { Queryable } from "@tidings/database/transaction";
import { type ContactRow, WHOLE_CONTACT_SELECT } from "../rows/contact.ts";

const statement = prepared(
  "contacts_whole",
  `select ${WHOLE_CONTACT_SELECT} from contacts c
   where c.id = any (array(select unnest($1::integer[]))) order by c.id`,
);

/** Contacts as they are stored, with everything that their events carry, by ids; deleted ones are left out. */
export function wholeContacts(query: Queryable["query"], ids: number[]): Promise<ContactRow[]> {
  return query(statement, [ids]);
}
