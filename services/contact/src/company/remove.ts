import { prepared } from "@tidings/database/database";
import { CompanySchema } from "@tidings/proto/tidings/contact/v1/company";
import type { Call } from "@tidings/rpc/call";
import type { FieldContext } from "../field/catalogue.ts";
import { companyDeleted } from "../record/company-events.ts";
import { lockRemovable, type RemoveOutcome } from "../record/remove.ts";
import { companyTable } from "../rows/company.ts";
import { appendUpdated, type ContactChanges } from "./updated-contacts.ts";

/** Contacts whose primary company goes fall back to the latest of their others. The ids of changed contacts, with the companies that each lost. */
const unlinkStatement = prepared(
  "companies_unlink",
  `with held as materialized (
     select c.id from contacts c where c.id in (select contact_id from company_contacts where company_id = any ($1::integer[]))
     order by c.id for update of c
   ), lost as (
     delete from company_contacts where company_id = any ($1::integer[]) and contact_id in (select id from held)
     returning contact_id, company_id, is_primary
   ), next as (
     select distinct on (cc.contact_id) cc.contact_id, cc.company_id
     from company_contacts cc join lost l on l.contact_id = cc.contact_id and l.is_primary
     where cc.company_id <> all ($1::integer[]) order by cc.contact_id, cc.date_added desc, cc.company_id desc
   ), promoted as (
     update company_contacts cc set is_primary = true from next n
     where cc.contact_id = n.contact_id and cc.company_id = n.company_id
   )
   update contacts c set version = c.version + 1,
     company = case when l.lost_primary then co.companyname else c.company end
   from (select contact_id, bool_or(is_primary) as lost_primary, json_agg(company_id order by company_id) as company_ids
     from lost group by contact_id) l
   left join next n on n.contact_id = l.contact_id left join companies co on co.id = n.company_id
   where c.id = l.contact_id
   returning c.id, l.company_ids`,
);

const deleteStatement = prepared("companies_delete", "delete from companies where id = any ($1::integer[])");

/** Deletes companies, each on its own, and answers them as they were. */
export async function removeCompanies(
  context: FieldContext,
  ids: number[],
  call: Call,
): Promise<RemoveOutcome[]> {
  const { company: set, contact: contactFields } = await context.catalogues.current();
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const kind = {
      type: CompanySchema.typeName,
      table: companyTable,
      set,
      ownerColumn: "created_by" as const,
    };
    const { outcomes, removed } = await lockRemovable(transaction, kind, ids, call);
    const removedIds = removed.map(({ id }) => id);
    const unlinked = await transaction.query(unlinkStatement, [removedIds]);
    const lost = new Map<number, ContactChanges>();
    for (const { id, company_ids } of unlinked) {
      const ids: number[] = JSON.parse(company_ids ?? "[]");
      const companies = ids.map((companyId) => ({ companyId, added: false }));
      lost.set(Number(id), { changed: ["company", "companies"], companies });
    }
    await appendUpdated(transaction, { set: contactFields, outbox: context.outbox }, lost);
    transaction.execute(deleteStatement, [removedIds]);
    context.outbox.append(transaction, removed.map(companyDeleted));
    return outcomes;
  });
}
