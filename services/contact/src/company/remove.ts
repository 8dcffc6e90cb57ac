import { prepared } from "@tidings/database/database";
import { appending } from "@tidings/messaging/outbox";
import type { Call } from "@tidings/rpc/call";
import { CONTACT_UPDATED, mirroredPayload, SNAPSHOT_FIELD, unlinkedPayload } from "../contact/events.ts";
import type { FieldContext } from "../field/catalogue.ts";
import { companyDeleted } from "../record/company-events.ts";
import { lockRemovable, type RemoveOutcome } from "../record/remove.ts";
import { companyTable } from "../rows/company.ts";

/** Contacts whose primary company goes fall back to the latest of their others. Each is told of what it lost. */
const unlinkStatement = prepared(
  "companies_unlink",
  appending(
    `select $4::text, c.id, c.version, ${SNAPSHOT_FIELD} || $6::bytea || (
     select string_agg(p.payload, ''::bytea order by p.company_id)
     from lost l join unnest($3::integer[], $5::bytea[]) as p (company_id, payload) on p.company_id = l.company_id
     where l.contact_id = c.id)
   from changed c`,
    `lost as (
     delete from company_contacts where company_id = any ($3::integer[]) returning contact_id, company_id, is_primary
   ), next as (
     select distinct on (cc.contact_id) cc.contact_id, cc.company_id
     from company_contacts cc join lost l on l.contact_id = cc.contact_id and l.is_primary
     where cc.company_id <> all ($3::integer[]) order by cc.contact_id, cc.date_added desc, cc.company_id desc
   ), promoted as (
     update company_contacts cc set is_primary = true from next n
     where cc.contact_id = n.contact_id and cc.company_id = n.company_id
   ), changed as (
     update contacts c set version = c.version + 1,
       company = case when l.lost_primary then co.companyname else c.company end
     from (select contact_id, bool_or(is_primary) as lost_primary from lost group by contact_id) l
     left join next n on n.contact_id = l.contact_id left join companies co on co.id = n.company_id
     where c.id = l.contact_id
     returning c.*
   ),`,
  ),
);

const deleteStatement = prepared("companies_delete", "delete from companies where id = any ($1::integer[])");

/** Deletes companies, each on its own, and answers them as they were. */
export async function removeCompanies(
  context: FieldContext,
  ids: number[],
  call: Call,
): Promise<RemoveOutcome[]> {
  const { company: set } = await context.catalogues.current();
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const kind = { table: companyTable, set, ownerColumn: "created_by" as const };
    const { outcomes, removed } = await lockRemovable(transaction, kind, ids, call);
    const removedIds = removed.map(({ id }) => id);
    context.outbox.appendBy(transaction, unlinkStatement, [
      removedIds,
      CONTACT_UPDATED,
      removedIds.map((id) => unlinkedPayload(Number(id))),
      mirroredPayload(["company", "companies"]),
    ]);
    transaction.execute(deleteStatement, [removedIds]);
    context.outbox.append(transaction, removed.map(companyDeleted));
    return outcomes;
  });
}
