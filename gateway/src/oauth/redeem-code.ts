import { prepared, type Row } from "@tidings/store/database";
import { FAMILY_COLUMNS, type Family, familyOf } from "./family.ts";
import { endFamily, grantTokens } from "./grant-tokens.ts";
import { OAuthError } from "./oauth-error.ts";
import { isProof } from "./pkce.ts";
import { digest } from "./secret.ts";
import type { IssuedTokens } from "./token.ts";
import { auditForeign } from "./token-audit.ts";
import { exchangeInTransaction, type TokenRequest, type TokenServices } from "./token-request.ts";

const lockStatement = prepared(
  "oauth_code_lock",
  `select k.redirect_uri, k.challenge, k.used_at, k.expires_at <= now() as is_expired, ${FAMILY_COLUMNS}
   from oauth_codes k join oauth_grants g on g.id = k.grant_id left join users u on u.id = g.user_id
   where k.hash = $1 for update of k, g`,
);
const burnStatement = prepared("oauth_code_burn", "update oauth_codes set used_at = now() where hash = $1");

/**
 * Tokens for an authorization code (RFC 6749, 4.1.3). The first attempt of the right client uses the code up, whatever
 * comes of it; a second one ends everything that the first one got (RFC 6749, 4.1.2).
 */
export async function redeemCode(services: TokenServices, request: TokenRequest): Promise<IssuedTokens> {
  const code = request.parameter("code");
  if (!code) throw new OAuthError("invalid_request", 'Missing parameter. "code" is required');
  const hash = digest(code);
  return exchangeInTransaction(services.database, request.deadlineMs, async (transaction) => {
    const [row] = await transaction.query(lockStatement, [hash]);
    const family = row && familyOf(row);
    if (!family) return unknownCode();
    if (family.clientId !== request.client.id) {
      await auditForeign(transaction, request, family, "authorization_code");
      return unknownCode();
    }
    if (row.used_at !== null) {
      await endFamily(transaction, request, family, "authorization_code");
      return unknownCode();
    }
    transaction.execute(burnStatement, [hash]);
    const refusal = refusalOf(row, family, request);
    if (refusal) return refusal;

    const withRefresh = request.client.grants.includes("refresh_token");
    const proof = { ...family, by: "authorization_code" as const, withRefresh, parent: hash };
    return grantTokens(transaction, services, request, proof);
  });
}

function unknownCode(): OAuthError {
  return new OAuthError("invalid_grant", "Code doesn't exist or is invalid for the client");
}

function refusalOf(row: Row, family: Family, request: TokenRequest): OAuthError | undefined {
  if (row.is_expired === "t") return new OAuthError("invalid_grant", "The authorization code has expired");
  if (!family.isAlive) return unknownCode();
  const redirectUri = request.parameter("redirect_uri");
  if (!redirectUri) return new OAuthError("invalid_request", "The redirect URI parameter is required.");
  if (redirectUri !== row.redirect_uri)
    return new OAuthError("redirect_uri_mismatch", "The redirect URI is missing or do not match");
  if (!isProof(request.parameter("code_verifier"), row.challenge ?? undefined))
    return new OAuthError("invalid_grant", "The code verifier is missing or does not match");
  return undefined;
}
