import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { NOT_VALID, type Violation } from "@tidings/rpc/fault";
import { folded } from "@tidings/runtime/folded";
import type { Application, RowChange } from "../record/kind.ts";
import { type CompanyLink, type ContactRow, companiesOf } from "../rows/contact.ts";
import type { ContactChange } from "./body.ts";
import type { ContactLookups } from "./look-up.ts";

/**
 * Gives a contact its companies. `companies` replaces them all; `company` names the primary one, which is made when no
 * company has that name; an empty `company` ends the primary link. The contact's `company` is always the primary one's name.
 */
export function applyCompanies(
  row: ContactRow,
  { row: before, change, lookups }: Application<ContactChange, ContactLookups>,
): Violation[] {
  let links = companiesOf(row);
  const { companies } = change;
  if (companies) {
    // Present companies of a contact stay, whether or not the caller sees them.
    const known = companies.map((id) => links.find((link) => link.id === id) ?? lookups.companyById(id));
    if (known.includes(undefined)) return [{ field: "companies", message: NOT_VALID }];
    links = known.flatMap((company) => {
      const isPrimary = links.some(({ id, isPrimary }) => isPrimary && id === company?.id);
      return company ? [{ ...company, isPrimary }] : [];
    });
    if (links[0] && !links.some(({ isPrimary }) => isPrimary)) links[0].isPrimary = true;
    setCompanies(row, links);
  }
  const name = change.values.get("company");
  const primary = companiesOf(before).find(({ isPrimary }) => isPrimary);
  const isSame = name && primary && folded(name) === folded(primary.name);
  if (name === undefined || isSame || (name === null && before.company === null)) {
    // Written otherwise it is the same company: its name stands.
    if (isSame && !companies) row.company = primary.name;
    return [];
  }
  if (name === null) setCompanies(row, withPrimary(links.filter(({ isPrimary }) => !isPrimary)));
  else nameCompany(row, links, name, lookups);
  return [];
}

/** A company that the caller may not name is a text like any other: the contact belongs to none of that name. */
function nameCompany(row: ContactRow, links: CompanyLink[], name: string, lookups: ContactLookups): void {
  const company = lookups.companyNamed(name);
  const others = links.map((link) => ({ ...link, isPrimary: false }));
  setCompanies(row, company ? withFirst(links, company) : others);
  if (!company) row.company = name;
}

export function setCompanies(row: ContactRow, links: CompanyLink[]): void {
  row.companies =
    links.length > 0
      ? JSON.stringify(links.map(({ id, name, isPrimary }) => ({ id, name, isPrimary })))
      : null;
  row.company = links.find(({ isPrimary }) => isPrimary)?.name ?? null;
}

/** Makes one of the companies the primary one; the latest when none is. */
export function withPrimary(links: CompanyLink[]): CompanyLink[] {
  if (links.some(({ isPrimary }) => isPrimary)) return links;
  const latest = links.length - 1;
  return links.map((link, index) => ({ ...link, isPrimary: index === latest }));
}

/** A contact that belongs to this company, too. The first company is the primary one, or the one that is made so. */
export function withCompany(
  row: ContactRow,
  company: { id: number; name: string },
  isMadePrimary = false,
): ContactRow {
  const links = companiesOf(row);
  const known = links.find(({ id }) => id === company.id);
  if (known && (known.isPrimary || !isMadePrimary)) return row;
  const changed = { ...row };
  const added = { ...company, isPrimary: links.length === 0 };
  setCompanies(changed, isMadePrimary ? withFirst(links, company) : [...links, added]);
  return changed;
}

/** A contact that does not belong to this company. */
export function withoutCompany(row: ContactRow, companyId: number): ContactRow {
  const links = companiesOf(row);
  const kept = links.filter(({ id }) => id !== companyId);
  if (kept.length === links.length) return row;
  const changed = { ...row };
  setCompanies(changed, withPrimary(kept));
  return changed;
}

/** With this company as the primary one. */
function withFirst(links: CompanyLink[], company: { id: number; name: string }): CompanyLink[] {
  const others = links.filter(({ id }) => id !== company.id).map((link) => ({ ...link, isPrimary: false }));
  return [...others, { ...company, isPrimary: true }];
}

// A contact has one primary company: the others give that up before one takes it.
const unlinkStatement = prepared(
  "company_contacts_delete",
  `delete from company_contacts where (contact_id, company_id) in
    (select * from unnest($1::integer[], $2::integer[]))`,
);
const secondStatement = prepared(
  "company_contacts_second",
  `update company_contacts set is_primary = false where is_primary and (contact_id, company_id) in
    (select * from unnest($1::integer[], $2::integer[]))`,
);
const linkStatement = prepared(
  "company_contacts_link",
  `insert into company_contacts (contact_id, company_id, is_primary, date_added)
   select contact_id, company_id, is_primary, now()
   from unnest($1::integer[], $2::integer[], $3::boolean[]) as l(contact_id, company_id, is_primary)
   order by contact_id, company_id
   on conflict (contact_id, company_id) do update set is_primary = excluded.is_primary`,
);

/** Writes the links that differ. */
export function writeCompanyLinks(transaction: Transaction, changes: RowChange[]): void {
  const removed: [number, number][] = [];
  const demoted: [number, number][] = [];
  const set: [number, number, boolean][] = [];
  for (const { contactId, before, after } of changes.flatMap(linksOf)) {
    for (const link of before) {
      const kept = after.find(({ id }) => id === link.id);
      if (!kept) removed.push([contactId, link.id]);
      else if (link.isPrimary && !kept.isPrimary) demoted.push([contactId, link.id]);
    }
    for (const link of after) {
      const known = before.find(({ id }) => id === link.id);
      if (!known || (link.isPrimary && !known.isPrimary)) set.push([contactId, link.id, link.isPrimary]);
    }
  }
  const column = <T>(rows: T[][], index: number) => rows.map((row) => row[index]);
  if (removed.length > 0) transaction.execute(unlinkStatement, [column(removed, 0), column(removed, 1)]);
  if (demoted.length > 0) transaction.execute(secondStatement, [column(demoted, 0), column(demoted, 1)]);
  if (set.length > 0)
    transaction.execute(linkStatement, [
      column<unknown>(set, 0),
      column<unknown>(set, 1),
      column<unknown>(set, 2),
    ]);
}

function linksOf({ before, row }: RowChange) {
  if ((before?.companies ?? null) === (row.companies ?? null)) return [];
  return [{ contactId: Number(row.id), before: before ? companiesOf(before) : [], after: companiesOf(row) }];
}
