import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Actor } from "@tidings/rpc/actor";
import { LRUCache } from "lru-cache";

/** Users and clients with their rights, as of at most two seconds ago. Undefined for missing and unpublished ones. */
export interface Principals {
  user(id: number, deadlineMs: number): Promise<Actor | undefined>;
  client(
    client: { id: number; name: string; roleId: number | null },
    deadlineMs: number,
  ): Promise<Actor | undefined>;
}

const FRESH_MS = 2_000;

const userStatement = prepared(
  "principal_user",
  `select concat_ws(' ', u.first_name, u.last_name) as name, coalesce(r.is_admin, false) as is_admin,
     coalesce(r.permissions, '{}') as permissions
   from users u left join roles r on r.id = u.role_id and r.is_published where u.id = $1 and u.is_published`,
);
const roleStatement = prepared(
  "principal_role",
  `select is_admin, coalesce(permissions, '{}') as permissions
   from roles where id = $1 and is_published`,
);
const activeStatement = prepared(
  "principal_active",
  `update users set last_active = now()
   where id = $1 and is_published and (last_active is null or last_active < now() - interval '1 minute')`,
);

export function openPrincipals(database: Database): Principals {
  const fresh = new LRUCache<string, Actor>({ max: 1_000, ttl: FRESH_MS });
  const recall = async (key: string, find: () => Promise<Actor | undefined>) => {
    const known = fresh.get(key);
    if (known) return known;
    const actor = await find();
    if (actor) fresh.set(key, actor);
    return actor;
  };
  return {
    user: (id, deadlineMs) =>
      recall(`user:${id}`, async () => {
        const [actor] = await Promise.all([
          findPrincipal(database, id, deadlineMs),
          database.query(activeStatement, [id], deadlineMs),
        ]);
        return actor;
      }),
    client: ({ id, name, roleId }, deadlineMs) =>
      recall(`client:${id}`, async () => {
        const [row] = await database.query(roleStatement, [roleId], deadlineMs);
        return row && { kind: "client", id: null, clientId: id, name, ...rightsOf(row) };
      }),
  };
}

/** A user who can sign in, as of now. One whose role is unpublished may do nothing. */
export async function findPrincipal(
  database: Database,
  id: number,
  deadlineMs: number,
): Promise<Actor | undefined> {
  const [row] = await database.query(userStatement, [id], deadlineMs);
  return row && { kind: "user", id, name: row.name ?? "", ...rightsOf(row) };
}

function rightsOf({ is_admin, permissions }: Row): Pick<Actor, "admin" | "permissions"> {
  return { admin: is_admin === "t", permissions: JSON.parse(permissions ?? "{}") };
}
