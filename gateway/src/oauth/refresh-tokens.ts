import { prepared, type Row, type Transaction } from "@tidings/store/database";
import { touchClient } from "./client.ts";
import { FAMILY_COLUMNS, type Family, familyOf } from "./family.ts";
import { revokeGrant } from "./grant.ts";
import { OAuthError } from "./oauth-error.ts";
import { digest } from "./secret.ts";
import { type IssuedTokens, issueTokens } from "./token.ts";
import { auditToken } from "./token-audit.ts";
import { exchangeInTransaction, type TokenRequest, type TokenServices } from "./token-request.ts";

const lockStatement = prepared(
  "oauth_refresh_lock",
  `select t.used_at, t.revoked_at, t.expires_at <= now() as is_expired, ${FAMILY_COLUMNS}
   from oauth_tokens t join oauth_grants g on g.id = t.grant_id left join users u on u.id = g.user_id
   where t.hash = $1 and t.kind = 'refresh' for update of t, g`,
);
const useStatement = prepared("oauth_refresh_use", "update oauth_tokens set used_at = now() where hash = $1");

/**
 * New tokens for a refresh token, which is used up by it. Whoever sends one that was used holds a copy, or another one
 * does: the whole family ends (RFC 9700, 4.14.2).
 */
export async function refreshTokens(services: TokenServices, request: TokenRequest): Promise<IssuedTokens> {
  const refreshToken = request.parameter("refresh_token");
  if (!refreshToken) throw new OAuthError("invalid_request", 'No "refresh_token" parameter found');
  const hash = digest(refreshToken);
  return exchangeInTransaction(services.database, request.deadlineMs, async (transaction) => {
    const [row] = await transaction.query(lockStatement, [hash]);
    const family = row && familyOf(row);
    if (!family || family.clientId !== request.client.id) return unknownToken();
    if (row.used_at !== null) return refuseReuse(transaction, request, family);
    const refusal = refusalOf(row, family);
    if (refusal) return refusal;

    transaction.execute(useStatement, [hash]);
    const { client, clientIp } = request;
    const { grantId, user } = family;
    const { lifetimes } = services;
    const tokens = await issueTokens(transaction, { grantId, lifetimes, withRefresh: true, parent: hash });
    await touchClient(transaction, client.id);
    const event = { action: "token_issued", by: "refresh_token" } as const;
    await auditToken(transaction, { ...event, client, clientIp, grantId, user });
    return tokens;
  });
}

function unknownToken(): OAuthError {
  return new OAuthError("invalid_grant", "Invalid refresh token");
}

async function refuseReuse(
  transaction: Transaction,
  { client, clientIp }: TokenRequest,
  { grantId, user, isAlive }: Family,
): Promise<OAuthError> {
  if (!isAlive) return unknownToken();
  await revokeGrant(transaction, grantId);
  const event = { action: "token_reuse_detected", by: "refresh_token" } as const;
  await auditToken(transaction, { ...event, client, clientIp, grantId, user });
  return unknownToken();
}

function refusalOf({ revoked_at, is_expired }: Row, { isAlive }: Family): OAuthError | undefined {
  if (revoked_at !== null || !isAlive) return unknownToken();
  if (is_expired === "t") return new OAuthError("invalid_grant", "Refresh token has expired");
  return undefined;
}
