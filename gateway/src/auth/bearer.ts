import { type Database, prepared } from "@tidings/database/database";
import type { Actor } from "@tidings/rpc/actor";
import { unauthenticated } from "@tidings/rpc/fault";
import { LRUCache } from "lru-cache";
import type { Principals } from "../identity/principals.ts";
import { digest } from "../secret.ts";
import type { Attempt } from "./credentials.ts";

export interface Bearers {
  /** The actor of this access token, if it was verified within the last two seconds. */
  recall(token: string): Actor | undefined;
  /** The actor of the token now. Throws UNAUTHENTICATED when it is unknown, expired, revoked, or its user is gone. */
  verify(token: string, attempt: Attempt): Promise<Actor>;
}

/** A token that was revoked, and a user who was disabled, may go on for so long on each gateway. */
const FRESH_MS = 2_000;
const REMEMBERED_MS = 60_000;
const REMEMBERED_MAX = 10_000;

const findStatement = prepared(
  "oauth_token_bearer",
  `select floor(extract(epoch from t.expires_at - now()) * 1000) as remaining_ms, g.user_id,
     c.id as client_id, c.name as client_name, c.role_id
   from oauth_tokens t join oauth_grants g on g.id = t.grant_id join oauth_clients c on c.id = g.client_id
   where t.hash = $1 and t.kind = 'access' and t.revoked_at is null and g.revoked_at is null`,
);

interface Known {
  actor: Actor;
  freshUntil: number;
}

/**
 * Access tokens (RFC 6750). A token that was good within the last minute is looked up without being counted: many clients
 * behind one address are no attack.
 */
export function openBearers(database: Database, principals: Principals): Bearers {
  const remembered = new LRUCache<string, Known>({ max: REMEMBERED_MAX, ttl: REMEMBERED_MS });

  const find = async (hash: string, deadlineMs: number): Promise<Known> => {
    const [row] = await database.query(findStatement, [hash], deadlineMs);
    const remainingMs = Number(row?.remaining_ms ?? 0);
    if (row && remainingMs <= 0) throw expired();
    const actor = row?.user_id
      ? await principals.user(Number(row.user_id), deadlineMs)
      : row && (await principals.client(clientOf(row), deadlineMs));
    if (!actor) throw unknown();
    return { actor, freshUntil: Date.now() + Math.min(FRESH_MS, remainingMs) };
  };

  return {
    recall(token) {
      const known = remembered.get(digest(token));
      return known && known.freshUntil > Date.now() ? known.actor : undefined;
    },
    async verify(token, { count, deadlineMs }) {
      const hash = digest(token);
      if (!remembered.has(hash)) await count();
      remembered.delete(hash);
      const known = await find(hash, deadlineMs);
      remembered.set(hash, known);
      return known.actor;
    },
  };
}

function clientOf(row: Record<string, string | null>) {
  const { client_id, client_name, role_id } = row;
  return { id: Number(client_id), name: client_name ?? "", roleId: role_id ? Number(role_id) : null };
}

function unknown() {
  return unauthenticated("TOKEN_INVALID", "The access token provided is invalid.");
}

function expired() {
  return unauthenticated("TOKEN_EXPIRED", "The access token provided has expired.");
}
