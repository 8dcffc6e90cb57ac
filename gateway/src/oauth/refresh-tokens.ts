import { prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import { digest } from "../secret.ts";
import { endFamily, FAMILY_COLUMNS, type Family, familyOf, grantTokens } from "./grant.ts";
import { OAuthError } from "./oauth-error.ts";
import type { IssuedTokens } from "./token.ts";
import { auditForeign } from "./token.ts";
import { exchangeInTransaction, type TokenRequest, type TokenServices } from "./token-request.ts";

const lockStatement = prepared(
  "oauth_refresh_lock",
  `select t.used_at, t.revoked_at, t.expires_at <= now() as is_expired, ${FAMILY_COLUMNS}
   from oauth_tokens t join oauth_grants g on g.id = t.grant_id left join users u on u.id = g.user_id
   where t.hash = $1 and t.kind = 'refresh' for update of t, g`,
);
const useStatement = prepared("oauth_refresh_use", "update oauth_tokens set used_at = now() where hash = $1");

/**
 * New tokens for a refresh token, which is used up by it. A client that sends a used one holds a copy, or another one
 * does: the whole family ends (RFC 9700, 4.14.2).
 */
export async function refreshTokens(services: TokenServices, request: TokenRequest): Promise<IssuedTokens> {
  const refreshToken = request.parameter("refresh_token");
  if (!refreshToken) throw new OAuthError("invalid_request", 'No "refresh_token" parameter found');
  const hash = digest(refreshToken);
  return exchangeInTransaction(services.database, request.deadlineMs, async (transaction) => {
    const [row] = await transaction.query(lockStatement, [hash]);
    const family = row && familyOf(row);
    if (!family) return unknownToken();
    if (family.clientId !== request.client.id) {
      await auditForeign(transaction, request, family, "refresh_token");
      return unknownToken();
    }
    if (row.used_at !== null) {
      await endFamily(transaction, request, family, "refresh_token");
      return unknownToken();
    }
    const refusal = refusalOf(row, family);
    if (refusal) return refusal;

    transaction.execute(useStatement, [hash]);
    const proof = { ...family, by: "refresh_token" as const, withRefresh: true, parent: hash };
    return grantTokens(transaction, services, request, proof);
  });
}

function unknownToken(): OAuthError {
  return new OAuthError("invalid_grant", "Invalid refresh token");
}

function refusalOf({ revoked_at, is_expired }: Row, { isAlive }: Family): OAuthError | undefined {
  if (revoked_at !== null || !isAlive) return unknownToken();
  if (is_expired === "t") return new OAuthError("invalid_grant", "Refresh token has expired");
  return undefined;
}
