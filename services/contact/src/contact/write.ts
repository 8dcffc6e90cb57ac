import { prepared, type Statement, type Transaction } from "@tidings/store/database";
import { changedColumns } from "./apply.ts";
import { INSERT_IDENTIFIERS, type OwnClaim, ownClaimColumns } from "./identifier.ts";
import { CONTACT_COLUMNS, type ContactRow } from "./row.ts";

/** Values travel as text in one JSON document and are cast here: one statement for any number of contacts. */
function records(columns: { name: string }[], parameter = "$1"): string {
  return `json_to_recordset(${parameter}::json) as x(${columns.map(({ name }) => `${name} text`).join(", ")})`;
}

function casts(columns: { name: string; sqlType: string }[]): string[] {
  return columns.map(({ name, sqlType }) => (sqlType === "text" ? `x.${name}` : `x.${name}::${sqlType}`));
}

const insertStatement = prepared(
  "contacts_insert",
  `with added as (
     insert into contacts (${CONTACT_COLUMNS.map(({ name }) => name).join(", ")}) overriding system value
     select ${casts(CONTACT_COLUMNS).join(", ")} from ${records(CONTACT_COLUMNS, "$4")}
   )
   ${INSERT_IDENTIFIERS}`,
);

/** Inserts contacts with their identifiers. Fails as a whole when somebody else has one of them. */
export function insertContacts(transaction: Transaction, rows: ContactRow[], claims: OwnClaim[]): void {
  if (rows.length === 0) return;
  transaction.execute(insertStatement, [...ownClaimColumns(claims), JSON.stringify(rows, withoutNulls)]);
}

/** Writes the columns that changed in any of the contacts. */
export function updateContacts(
  transaction: Transaction,
  edits: { before: ContactRow; row: ContactRow }[],
): void {
  if (edits.length === 0) return;
  const names = [...new Set(edits.flatMap(({ before, row }) => changedColumns(before, row)))];
  const values = edits.map(({ row }) =>
    Object.fromEntries(["id", ...names].map((name) => [name, row[name]])),
  );
  transaction.execute(updateStatement(names), [JSON.stringify(values, withoutNulls)]);
}

const updateStatements = new Map<string, Statement>();
const UPDATE_STATEMENTS_MAX = 200;

function updateStatement(names: string[]): Statement {
  const columns = CONTACT_COLUMNS.filter(({ name }) => names.includes(name));
  const key = columns.map(({ name }) => name).join();
  const known = updateStatements.get(key);
  if (known) return known;
  const values = casts(columns);
  const assignments = columns.map(({ name }, index) => `${name} = ${values[index]}`);
  const text = `update contacts c set ${assignments.join(", ")}
    from ${records([{ name: "id" }, ...columns])} where c.id = x.id::integer`;
  if (updateStatements.size >= UPDATE_STATEMENTS_MAX) return { text };
  const statement = prepared(`contacts_update_${updateStatements.size + 1}`, text);
  updateStatements.set(key, statement);
  return statement;
}

function withoutNulls(_name: string, value: unknown): unknown {
  return value ?? undefined;
}
