import { type Database, prepared } from "@tidings/database/database";
import type { User } from "@tidings/proto/tidings/identity/v1/user";
import { parseJson } from "@tidings/resource/json-member";
import { textOf } from "@tidings/runtime/plain-text";
import type { Rights } from "./permissions.ts";

/** A role as it is looked at together with its users. */
export interface UserRole {
  isPublished: boolean;
  rights: Rights;
  /** The member `role` of a user. */
  json: Buffer;
}

const findStatement = prepared(
  "user_roles",
  `select id, is_published, is_admin, coalesce(permissions, '{}') as permissions,
     json_build_object('id', id, 'name', name, 'description', description, 'isAdmin', is_admin,
       'rawPermissions', raw_permissions, 'createdByUser', created_by_user, 'modifiedByUser', modified_by_user) as json
   from roles where id = any($1::integer[])`,
);

export async function findRoles(
  database: Database,
  ids: number[],
  deadlineMs: number,
): Promise<Map<number, UserRole>> {
  const rows = await database.query(findStatement, [[...new Set(ids)]], deadlineMs);
  return new Map(
    rows.map(({ id, is_published, is_admin, permissions, json }) => [
      Number(id),
      {
        isPublished: is_published === "t",
        rights: { admin: is_admin === "t", permissions: JSON.parse(permissions ?? "{}") },
        json: Buffer.from(json ?? ""),
      },
    ]),
  );
}

/** Fills in what is answered of the roles of these users. */
export async function showRoles(database: Database, users: User[], deadlineMs: number): Promise<void> {
  if (users.length === 0) return;
  const ids = users.map(({ roleId }) => roleId);
  const roles = await findRoles(database, ids, deadlineMs);
  for (const user of users) {
    const role = roles.get(user.roleId);
    if (role) user.role = role.json;
  }
}

/** The id that a caller sent as `role`, by itself or in an object; 0 is no role, NaN cannot be one. */
export function sentRoleId({ role }: User): number {
  if (!role) return 0;
  const sent: unknown = parseJson(role);
  const id = typeof sent === "object" && sent !== null && "id" in sent ? sent.id : sent;
  if (id === null || id === "") return 0;
  const text = textOf(id) ?? "";
  return /^[1-9]\d{0,8}$/.test(text) ? Number(text) : Number.NaN;
}
