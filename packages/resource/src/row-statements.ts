import { prepared } from "@tidings/database/database";
import type { Column } from "./columns.ts";
import type { Ownership } from "./ownership.ts";

/** A deleted row is removed, or kept and hidden with the time in `date_deleted`. */
export type Deletion = "gone" | "kept";

export type RowStatements = ReturnType<typeof rowStatements>;

/** The statements of a table whose rows are written as JSON, prepared once for a process. */
export function rowStatements(
  table: string,
  columns: Column[],
  { isOwn, isShared }: Ownership,
  deletion: Deletion,
) {
  const names = columns.map(({ name }) => `"${name}"`);
  const definition = columns.map(({ name, sqlType }) => `"${name}" ${sqlType}`);
  const record = `json_to_recordset($1::json) as x(${definition.join(", ")}, version integer)`;
  const assignments = names.filter((name) => name !== '"id"').map((name) => `${name} = x.${name}`);
  const selected = `${names.join(", ")}, version`;
  const row = `select ${selected}, ${isOwn("$2")} as is_own, ${isShared} as is_shared from ${table}`;
  // The sub-selects around arrays hide their lengths from the planner, which would plan anew for every call.
  const byIds = "where id = any (array(select unnest($1::integer[])))";
  const present = deletion === "kept" ? " and date_deleted is null" : "";
  return {
    get: prepared(`${table}_get`, `${row} where id = $1${present}`),
    lock: prepared(`${table}_lock`, `${row} ${byIds}${present} order by id for update`),
    nextIds: prepared(
      `${table}_next_ids`,
      `select nextval(pg_get_serial_sequence('${table}', 'id')) as id from generate_series(1, (select $1::integer))`,
    ),
    insert: prepared(
      `${table}_insert`,
      `insert into ${table} (${selected}) overriding system value
       select ${names.map((name) => `x.${name}`).join(", ")}, x.version from ${record}`,
    ),
    update: prepared(
      `${table}_update`,
      `update ${table} set ${assignments.join(", ")}, version = x.version from ${record} where ${table}.id = x.id`,
    ),
    delete: prepared(
      `${table}_delete`,
      deletion === "kept"
        ? `update ${table} set date_deleted = now(), version = version + 1 ${byIds}`
        : `delete from ${table} ${byIds}`,
    ),
  };
}
