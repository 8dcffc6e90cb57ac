import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

const addStatement = prepared(
  "first_visits_add",
  `insert into first_visits (contact_id, target)
   select x.contact_id, x.target from json_to_recordset($1::json) as x (contact_id integer, target text)
   order by x.contact_id, x.target on conflict do nothing returning contact_id, target`,
);

/** Notes where contacts are, and answers for which of these it is the first time: exactly once, however many ask at the same time. */
export async function firstVisits(
  transaction: Transaction,
  visits: { contactId: number; target: string }[],
): Promise<(contactId: number, target: string) => boolean> {
  if (visits.length === 0) return () => false;
  const wanted = new Map(visits.map((visit) => [`${visit.contactId} ${visit.target}`, visit]));
  const rows = [...wanted.values()].map(({ contactId, target }) => ({ contact_id: contactId, target }));
  const added = await transaction.query(addStatement, [JSON.stringify(rows)]);
  const firsts = new Set(added.map(({ contact_id, target }) => `${contact_id} ${target}`));
  // The first of several visits in one group is the first of all.
  return (contactId, target) => firsts.delete(`${contactId} ${target}`);
}
