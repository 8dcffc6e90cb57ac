import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Projection } from "@tidings/projection/projection";
import { replicate } from "@tidings/projection/replicate";
import { ClientSchema } from "@tidings/proto/tidings/identity/v1/client";
import { RoleSchema } from "@tidings/proto/tidings/identity/v1/role";
import { UserSchema } from "@tidings/proto/tidings/identity/v1/user";
import { parseJson } from "@tidings/resource/json-member";
import type { Reach } from "@tidings/rpc/call";
import { reachOfAction } from "@tidings/rpc/permission";

/** The rights of a webhook's owner. */
const CONTACTS = "lead:leads";
const SEGMENTS = "lead:lists";
const FORMS = "form:forms";

/** The owner of a webhook as of now. */
export interface Owner {
  /** Undefined for an API credential. */
  userId: number | undefined;
  /** Which contacts and companies the owner may view: all, their own, or none. */
  reach: Reach;
  /** The same of segments. */
  segments: Reach;
  /** The same of forms. */
  forms: Reach;
  /** Why it is none. */
  problem: string | undefined;
  /** Nothing is known of it, or of its role, until an event comes that is on its way. */
  isToCome: boolean;
}

/** Columns of the view webhook_owners, under the names that `ownerOf` reads. */
export const OWNER_COLUMNS = "o.user_id, o.is_active, o.is_admin, o.permissions, o.is_to_come";

export function ownerOf({ user_id, is_active, is_admin, permissions, is_to_come }: Row): Owner {
  const userId = user_id ? Number(user_id) : undefined;
  const isToCome = is_to_come === "t";
  const none = (problem: string): Owner => ({
    userId,
    reach: "none",
    segments: "none",
    forms: "none",
    problem,
    isToCome,
  });
  if (isToCome) return none("Its owner is not known yet.");
  if (is_active !== "t") return none("Its owner is gone or not published.");
  const rights = { admin: is_admin === "t", permissions: JSON.parse(permissions ?? "{}") };
  const reach = reachOfAction(rights, CONTACTS, "view");
  if (reach === "none") return none("The role of its owner does not allow to view contacts.");
  const segments = reachOfAction(rights, SEGMENTS, "view");
  const forms = reachOfAction(rights, FORMS, "view");
  return { userId, reach, segments, forms, problem: undefined, isToCome };
}

const ownersStatement = prepared(
  "webhook_owners",
  `select o.webhook_id, ${OWNER_COLUMNS} from webhook_owners o where o.webhook_id = any($1::integer[])`,
);

/** The owners of webhooks by the ids of these. */
export async function readOwners(
  database: Database,
  webhookIds: number[],
  deadlineMs: number,
): Promise<Map<number, Owner>> {
  const rows = await database.query(ownersStatement, [webhookIds], deadlineMs);
  return new Map(rows.map((row) => [Number(row.webhook_id), ownerOf(row)]));
}

/** Replicas of users, roles and API credentials. */
export const ownerProjections: Projection[] = [
  replicate(UserSchema, {
    table: "users",
    columns: { role_id: "integer", is_published: "boolean" },
    row: ({ roleId, isPublished }) => ({ role_id: roleId, is_published: isPublished ?? false }),
  }),
  replicate(RoleSchema, {
    table: "roles",
    columns: { is_admin: "boolean", is_published: "boolean", permissions: "jsonb" },
    row: ({ isAdmin, isPublished, permissions: bytes }) => ({
      is_admin: isAdmin,
      is_published: isPublished ?? false,
      permissions: (bytes && parseJson(bytes)) ?? {},
    }),
  }),
  replicate(ClientSchema, {
    table: "clients",
    columns: { role_id: "integer" },
    row: ({ roleId }) => ({ role_id: roleId ?? null }),
  }),
];
