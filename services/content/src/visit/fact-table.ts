import { prepared } from "@tidings/database/database";
import type { Statement } from "@tidings/database/statement";
import { monthPartitioned } from "@tidings/jobs/partitions";

/** Columns by name with their SQL types, `id` and `contact_id` among them. */
export type FactColumns = Record<string, string>;

/** SQL of a migration: a table of facts of contacts, partitioned by month of the column `date`. */
export function factTable(table: string, columns: FactColumns, date: string): string[] {
  return [
    `create table ${table} (${typed(columns)}, primary key (id, ${date})) partition by range (${date})`,
    `alter table ${table} alter ${date} set not null`,
    `create table ${table}_rest partition of ${table} default`,
    `create index ${table}_of_contact on ${table} (contact_id, ${date}) where contact_id is not null`,
    ...monthPartitioned(table, date),
  ];
}

/** SQL: the columns of a row that is called `row`. */
export function columnsIn(row: string, columns: FactColumns): string {
  return Object.keys(columns)
    .map((name) => `${row}.${name}`)
    .join(", ");
}

/** Inserts the facts of a JSON array; those that are there stay as they are. */
export function insertFacts(table: string, columns: FactColumns): Required<Statement> {
  const names = Object.keys(columns).join(", ");
  return prepared(
    `${table}_insert`,
    `insert into ${table} (${names}) select ${names} from json_to_recordset($1::json) as x (${typed(columns)})
     on conflict do nothing`,
  );
}

function typed(columns: FactColumns): string {
  return Object.entries(columns)
    .map(([name, type]) => `${name} ${type}`)
    .join(", ");
}
