import { type Database, prepared } from "@tidings/store/database";

export interface RoleName {
  id: number;
  name: string;
}

const ROLES_MAX = 500;
const listStatement = prepared(
  "oauth_roles",
  `select id, name from roles order by lower(name), id limit ${ROLES_MAX}`,
);

/** The roles that a client may be given. */
export async function listRoles(database: Database, deadlineMs: number): Promise<RoleName[]> {
  const rows = await database.query(listStatement, [], deadlineMs);
  return rows.map(({ id, name }) => ({ id: Number(id), name: name ?? "" }));
}
