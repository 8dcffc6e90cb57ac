import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { mayReach } from "../record/reach.ts";
import { COMPANY_COLUMNS } from "../rows/company.ts";

const COMPANIES_MAX = 1_000;

const listStatement = prepared(
  "contact_companies",
  `select cc.company_id, cc.date_added as date_associated, cc.is_primary as is_primary,
     ${COMPANY_COLUMNS.map(({ name }) => `co.${name}`).join(", ")}
   from company_contacts cc join companies co on co.id = cc.company_id
   where cc.contact_id = $1 order by cc.date_added desc, cc.company_id desc limit ${COMPANIES_MAX}`,
);

/** The companies of a contact, the latest first, every column as text. */
export async function listContactCompanies(database: Database, contactId: number, call: Call) {
  const rows = await database.query(listStatement, [contactId], call.deadlineMs);
  const companies = rows.map((row) => {
    const isVisible = mayReach(call, Verb.VIEW, row, "created_by");
    return isVisible ? plainRow(row) : namedRow(plainRow(row));
  });
  return { companies: Buffer.from(JSON.stringify(companies)), totalSize: rows.length };
}

/** A company that the caller does not see: only its name, which the contact itself shows. */
function namedRow(row: Row): Row {
  return Object.fromEntries(Object.entries(row).filter(([name]) => TOLD_BY_CONTACT.has(name)));
}

const TOLD_BY_CONTACT = new Set(["company_id", "date_associated", "is_primary", "id", "companyname"]);

/** As a row of the database is written for clients: `Y-m-d H:i:s` and `0` or `1`. */
function plainRow(row: Row): Row {
  const { custom: _custom, version: _version, name_key: _key, ...shown } = row;
  return {
    ...shown,
    date_associated: row.date_associated?.slice(0, 19) ?? null,
    date_added: row.date_added?.slice(0, 19) ?? null,
    date_modified: row.date_modified?.slice(0, 19) ?? null,
    is_primary: row.is_primary === "t" ? "1" : "0",
    is_published: row.is_published === "t" ? "1" : "0",
  };
}
