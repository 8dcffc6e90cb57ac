import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { denied, type Fault, notFound } from "@tidings/rpc/fault";
import { prepared, type Row } from "@tidings/store/database";
import { withCustomValues } from "../field/values.ts";
import { mayReach } from "../record/reach.ts";
import type { RecordContext } from "../record/save.ts";
import { companyDeleted } from "./events.ts";
import { companyTable } from "./row.ts";

/** Contacts whose primary company goes fall back to the latest of their others. */
const unlinkStatement = prepared(
  "companies_unlink",
  `with lost as (
     delete from company_contacts where company_id = any ($1::integer[]) returning contact_id, is_primary
   ), next as (
     select distinct on (cc.contact_id) cc.contact_id, cc.company_id
     from company_contacts cc join lost l on l.contact_id = cc.contact_id and l.is_primary
     where cc.company_id <> all ($1::integer[]) order by cc.contact_id, cc.date_added desc, cc.company_id desc
   ), promoted as (
     update company_contacts cc set is_primary = true from next n
     where cc.contact_id = n.contact_id and cc.company_id = n.company_id
   )
   update contacts c set company = co.companyname, version = c.version + 1
   from lost l left join next n on n.contact_id = l.contact_id left join companies co on co.id = n.company_id
   where l.is_primary and c.id = l.contact_id`,
);

const deleteStatement = prepared("companies_delete", "delete from companies where id = any ($1::integer[])");

/** Deletes companies, each on its own, and answers them as they were. */
export async function removeCompanies(
  context: RecordContext,
  ids: number[],
  call: Call,
): Promise<({ row: Row } | { fault: Fault })[]> {
  const { company: set } = await context.catalogues.current();
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const rows = await companyTable.lock(transaction, ids, []);
    const known = new Map(rows.map((row) => [Number(row.id), withCustomValues(row, set)]));
    const outcomes = ids.map((id) => {
      const row = known.get(id);
      if (!row || !mayReach(call, Verb.VIEW, row, "created_by")) return { fault: notFound() };
      if (!mayReach(call, Verb.DELETE, row, "created_by")) return { fault: denied() };
      known.delete(id); // named twice, deleted once
      return { row };
    });
    const deleted = outcomes.flatMap((outcome) => ("row" in outcome ? [outcome.row] : []));
    const deletedIds = deleted.map(({ id }) => id);
    transaction.execute(unlinkStatement, [deletedIds]);
    transaction.execute(deleteStatement, [deletedIds]);
    context.outbox.append(transaction, deleted.map(companyDeleted));
    return outcomes;
  });
}
