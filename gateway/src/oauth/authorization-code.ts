import { type Database, prepared } from "@tidings/database/database";
import type { Row } from "@tidings/database/statement";
import type { Transaction } from "@tidings/database/transaction";
import { appendAudit } from "../identity/audit.ts";
import { digest, newSecret } from "../secret.ts";
import type { AuthorizationTarget } from "./authorization-request.ts";
import { createGrant, endFamily, FAMILY_COLUMNS, type Family, familyOf, grantTokens } from "./grant.ts";
import { OAuthError } from "./oauth-error.ts";
import { isProof } from "./pkce.ts";
import { auditForeign, type IssuedTokens } from "./token.ts";
import {
  CODE_SECONDS,
  exchangeInTransaction,
  type TokenRequest,
  type TokenServices,
} from "./token-request.ts";

export interface CodeIssue extends AuthorizationTarget {
  challenge: string | undefined;
  user: { id: number; name: string };
  clientIp: string;
  /** Was the user asked, or remembered? */
  wasAsked: boolean;
  deadlineMs: number;
}

const insertStatement = prepared(
  "oauth_code_insert",
  `insert into oauth_codes (hash, grant_id, redirect_uri, challenge, expires_at)
   values ($1, $2, $3, $4, now() + interval '${CODE_SECONDS} seconds')`,
);

/** Lets a client in for a user: a new grant and the code by which the client gets its tokens. */
export async function issueCode(database: Database, issue: CodeIssue): Promise<string> {
  const { client, user, redirectUri, challenge } = issue;
  return database.transaction(issue.deadlineMs, async (transaction) => {
    const code = newSecret("ac");
    const grantId = await createGrant(transaction, client.id, user.id);
    transaction.execute(insertStatement, [digest(code), grantId, redirectUri, challenge ?? null]);
    const details = { client: client.publicId, asked: issue.wasAsked };
    await auditConsent(transaction, "consent_given", issue, details);
    return code;
  });
}

/** Notes what a user has answered to a client. */
export async function auditConsent(
  transaction: Transaction,
  action: "consent_given" | "consent_denied",
  { user, client, clientIp }: Pick<CodeIssue, "user" | "client" | "clientIp">,
  details: object,
): Promise<void> {
  const actor = { kind: "user", id: user.id, name: user.name };
  const objectId = String(client.id);
  await appendAudit(transaction, [
    { action, actor, clientIp, objectType: "oauth_client", objectId, details },
  ]);
}

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
