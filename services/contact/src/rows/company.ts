import type { Row } from "@tidings/database/statement";
import type { Actor } from "@tidings/rpc/actor";
import { folded } from "@tidings/runtime/folded";
import { OWNER_JSON } from "./owner.ts";
import { type RecordColumn, recordTable, STANDARD_COLUMNS } from "./table.ts";

export const COMPANY_COLUMNS: RecordColumn[] = [
  ...STANDARD_COLUMNS,
  { name: "score", sqlType: "integer" },
  { name: "custom", sqlType: "jsonb" },
  // The name in the form in which companies are found by it.
  { name: "name_key", sqlType: "text" },
  ...`companyaddress1 companyaddress2 companyemail companyphone companycity companystate companyzipcode companycountry
    companyname companywebsite companyfax companyindustry companydescription`
    .split(/\s+/)
    .map((name) => ({ name, sqlType: "text" })),
  { name: "companynumber_of_employees", sqlType: "numeric" },
  { name: "companyannual_revenue", sqlType: "numeric" },
];

/** The select list of a company `co`. */
export const COMPANY_SELECT = `${COMPANY_COLUMNS.map(({ name }) => `co.${name}`).join(", ")},
  case when co.owner_id is not null then
    (select ${OWNER_JSON} from owners o where o.id = co.owner_id)
  end as owner,
  (select revision from field_revision) as field_revision`;

export const companyTable = recordTable({
  name: "companies",
  alias: "co",
  columns: COMPANY_COLUMNS,
  lockSelect: COMPANY_SELECT,
  identifiers: { table: "company_identifiers", idColumn: "company_id" },
});

/** A company before anything is known of it. */
export const EMPTY_COMPANY: Row = {
  ...Object.fromEntries(COMPANY_COLUMNS.map(({ name }) => [name, null])),
  version: "1",
  is_published: "t",
  score: "0",
  custom: "{}",
  owner: null,
};

/** A company of which only the name is known. `now` is the text form of a timestamptz. */
export function newCompany(id: number, name: string, actor: Actor, now: string): Row {
  return {
    ...EMPTY_COMPANY,
    id: String(id),
    companyname: name,
    name_key: folded(name),
    date_added: now,
    created_by: actor.id === null ? null : String(actor.id),
    created_by_user: actor.name,
  };
}
