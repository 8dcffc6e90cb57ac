import { type Database, prepared } from "@tidings/database/database";
import { badRequest } from "@tidings/rpc/fault";
import { folded } from "@tidings/runtime/folded";

/** SQL of a migration: names are found by how they begin, in the order of their bytes, whatever the collation of the database. */
export const COMPANY_NAMES = [
  "create index companies_published_names on companies (name_key text_pattern_ops) where is_published",
];

const LENGTH_MIN = 3;
const LENGTH_MAX = 191;
const NAMES_MAX = 10;
/** Several companies may have one name. */
const ROWS_MAX = 50;
/** No text that begins with another one comes after that one and this. */
const LAST = "\u{10FFFF}";

const statement = prepared(
  "companies_names",
  `select companyname from companies where is_published and name_key ~>=~ $1 and name_key ~<~ $2
   order by name_key using ~<~ limit ${ROWS_MAX}`,
);

/** Names of companies that begin with a text. Throws INVALID_ARGUMENT for one that is too short. */
export async function listCompanyNames(
  database: Database,
  beginning: string,
  deadlineMs: number,
): Promise<string[]> {
  const key = folded(beginning);
  if (key.length < LENGTH_MIN || key.length > LENGTH_MAX)
    throw badRequest(`The text must have ${LENGTH_MIN} to ${LENGTH_MAX} characters.`);
  const rows = await database.query(statement, [key, `${key}${LAST}`], deadlineMs);
  const names = new Map(rows.map(({ companyname }) => [folded(companyname ?? ""), companyname ?? ""]));
  return [...names.values()].slice(0, NAMES_MAX);
}
