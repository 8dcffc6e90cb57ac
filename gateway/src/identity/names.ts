import { type Database, prepared } from "@tidings/database/database";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { denied } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";

interface NameFilter {
  filter: string;
  limit: number;
  start: number;
}

const rolesStatement = prepared(
  "role_names",
  `select id, name from roles where is_published and strpos(lower(name), lower($1)) > 0
   order by lower(name), id limit $2 offset $3`,
);

/** The published roles by name. */
export async function listRoleNames(
  database: Database,
  { filter, limit, start }: NameFilter,
  { deadlineMs }: Call,
): Promise<{ id: number; name: string }[]> {
  const rows = await database.query(rolesStatement, [filter, limit, start], deadlineMs);
  return rows.map(({ id, name }) => ({ id: Number(id), name: name ?? "" }));
}

const ownersStatement = prepared(
  "owner_names",
  `select id, first_name, last_name from users
   where is_published and strpos(lower(concat_ws(' ', first_name, last_name)), lower($1)) > 0
   order by lower(first_name), lower(last_name), id limit $2 offset $3`,
);

/** The published users by name, for callers who may view contacts. */
export async function listOwners(
  database: Database,
  { filter, limit, start }: NameFilter,
  { actor, deadlineMs }: Call,
): Promise<{ id: number; firstName: string; lastName: string }[]> {
  if (reach(actor, "lead:leads", Verb.VIEW) === "none") throw denied();
  const rows = await database.query(ownersStatement, [filter, limit, start], deadlineMs);
  return rows.map(({ id, first_name, last_name }) => ({
    id: Number(id),
    firstName: first_name ?? "",
    lastName: last_name ?? "",
  }));
}
