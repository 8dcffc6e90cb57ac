import type { Actor } from "@tidings/rpc/actor";
import { type Database, prepared } from "@tidings/store/database";
import { LRUCache } from "lru-cache";

/** Who may do what, as of at most two seconds ago. Undefined for who is missing or unpublished. */
export interface Principals {
  user(id: number): Promise<Actor | undefined>;
  client(client: { id: number; name: string; roleId: number | null }): Promise<Actor | undefined>;
}

const FRESH_MS = 2_000;
const LOOKUP_MS = 5_000;

const userStatement = prepared(
  "principal_user",
  `select concat_ws(' ', u.first_name, u.last_name) as name, u.is_admin or coalesce(r.is_admin, false) as is_admin,
     coalesce(r.raw_permissions, '{}') as permissions
   from users u left join roles r on r.id = u.role_id where u.id = $1 and u.is_published`,
);
const roleStatement = prepared(
  "principal_role",
  "select is_admin, raw_permissions as permissions from roles where id = $1 and is_published",
);

export function openPrincipals(database: Database): Principals {
  const fresh = new LRUCache<string, Actor>({ max: 1_000, ttl: FRESH_MS });
  const remember = (key: string, actor: Actor) => {
    fresh.set(key, actor);
    return actor;
  };
  return {
    async user(id) {
      const key = `user:${id}`;
      const known = fresh.get(key);
      if (known) return known;
      const [row] = await database.query(userStatement, [id], Date.now() + LOOKUP_MS);
      if (!row) return undefined;
      const { name, is_admin, permissions } = row;
      const rights = JSON.parse(permissions ?? "{}");
      return remember(key, {
        kind: "user",
        id,
        name: name ?? "",
        admin: is_admin === "t",
        permissions: rights,
      });
    },
    async client({ id, name, roleId }) {
      const key = `client:${id}`;
      const known = fresh.get(key);
      if (known) return known;
      const [row] = await database.query(roleStatement, [roleId], Date.now() + LOOKUP_MS);
      if (!row) return undefined;
      const rights = JSON.parse(row.permissions ?? "{}");
      return remember(key, {
        kind: "client",
        id: null,
        name,
        admin: row.is_admin === "t",
        permissions: rights,
      });
    },
  };
}
