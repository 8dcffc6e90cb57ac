import { type Database, prepared, type Queryable } from "@tidings/store/database";

const insertStatement = prepared(
  "oauth_grant_insert",
  "insert into oauth_grants (client_id, user_id) values ($1, $2) returning id",
);

/** Begins a family of tokens: of a user, or without one of the client itself. */
export async function createGrant(
  queryable: Queryable,
  clientId: number,
  userId: number | undefined,
): Promise<string> {
  const [row] = await queryable.query(insertStatement, [clientId, userId ?? null]);
  return row?.id ?? "";
}

const revokeStatement = prepared(
  "oauth_grant_revoke",
  "update oauth_grants set revoked_at = now() where id = $1 and revoked_at is null",
);

/** Ends every code and token of a family at once. */
export async function revokeGrant(queryable: Queryable, grantId: string): Promise<void> {
  await queryable.query(revokeStatement, [grantId]);
}

const rememberedStatement = prepared(
  "oauth_grant_remembered",
  "select 1 from oauth_grants where user_id = $1 and client_id = $2 and revoked_at is null limit 1",
);

/** Has the user let this client in before, and not taken it back? */
export async function hasConsent(
  database: Database,
  userId: number,
  clientId: number,
  deadlineMs: number,
): Promise<boolean> {
  return (await database.query(rememberedStatement, [userId, clientId], deadlineMs)).length > 0;
}
