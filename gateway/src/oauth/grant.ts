import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Queryable, Transaction } from "@tidings/database/transaction";
import { type GrantType, touchClient } from "./client.ts";
import { OAuthError } from "./oauth-error.ts";
import { auditToken, type IssuedTokens, issueTokens } from "./token.ts";
import type { TokenRequest, TokenServices } from "./token-request.ts";

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

/** All that came from one grant: its code and the chain of its tokens. */
export interface Family {
  grantId: string;
  clientId: number;
  user: { id: number; name: string } | undefined;
  /** Neither taken back nor of a user who is gone. */
  isAlive: boolean;
}

/** Columns for `oauth_grants g left join users u`. */
export const FAMILY_COLUMNS = `g.id as grant_id, g.client_id, g.user_id,
  concat_ws(' ', u.first_name, u.last_name) as user_name,
  g.revoked_at is null and u.is_published is not false as is_alive`;

export function familyOf({ grant_id, client_id, user_id, user_name, is_alive }: Row): Family {
  return {
    grantId: grant_id ?? "",
    clientId: Number(client_id),
    user: user_id ? { id: Number(user_id), name: user_name ?? "" } : undefined,
    isAlive: is_alive === "t",
  };
}

/** A grant that was proved to be worth tokens. */
export interface Proof extends Pick<Family, "grantId" | "user"> {
  by: GrantType;
  withRefresh: boolean;
  /** Digest of the code or refresh token that the new ones replace. */
  parent: string | undefined;
}

/** Gives a client its tokens and notes it. */
export async function grantTokens(
  transaction: Transaction,
  { lifetimes }: TokenServices,
  { client, clientIp }: TokenRequest,
  { grantId, user, by, withRefresh, parent }: Proof,
): Promise<IssuedTokens> {
  const tokens = await issueTokens(transaction, { grantId, lifetimes, withRefresh, parent });
  await touchClient(transaction, client.id);
  await auditToken(transaction, { action: "token_issued", by, client, clientIp, grantId, user });
  return tokens;
}

/** Somebody holds a copy of what was used before: all that came from it ends, unless it has ended already. */
export async function endFamily(
  transaction: Transaction,
  { client, clientIp }: TokenRequest,
  { grantId, user, isAlive }: Family,
  by: GrantType,
): Promise<void> {
  if (!isAlive) return;
  await revokeGrant(transaction, grantId);
  await auditToken(transaction, { action: "token_reuse_detected", by, client, clientIp, grantId, user });
}

/** A token of the client itself (RFC 6749, 4.4): no user, and nothing to refresh it with. */
export async function issueClientToken(
  services: TokenServices,
  request: TokenRequest,
): Promise<IssuedTokens> {
  const { client, deadlineMs } = request;
  if (client.isPublic)
    throw new OAuthError("unauthorized_client", "The grant type is unauthorized for this client_id");
  return services.database.transaction(deadlineMs, async (transaction) => {
    const grantId = await createGrant(transaction, client.id, undefined);
    const by = "client_credentials";
    const proof = { grantId, user: undefined, by, withRefresh: false, parent: undefined } as const;
    return grantTokens(transaction, services, request, proof);
  });
}
