import { touchClient } from "./client.ts";
import { createGrant } from "./grant.ts";
import { OAuthError } from "./oauth-error.ts";
import { type IssuedTokens, issueTokens } from "./token.ts";
import { auditToken } from "./token-audit.ts";
import type { TokenRequest, TokenServices } from "./token-request.ts";

/** A token of the client itself (RFC 6749, 4.4): no user, and nothing to refresh it with. */
export async function issueClientToken(
  { database, lifetimes }: TokenServices,
  { client, clientIp, deadlineMs }: TokenRequest,
): Promise<IssuedTokens> {
  if (client.isPublic)
    throw new OAuthError("unauthorized_client", "The grant type is unauthorized for this client_id");
  return database.transaction(deadlineMs, async (transaction) => {
    const grantId = await createGrant(transaction, client.id, undefined);
    const tokens = await issueTokens(transaction, {
      grantId,
      lifetimes,
      withRefresh: false,
      parent: undefined,
    });
    await touchClient(transaction, client.id);
    const event = { action: "token_issued", by: "client_credentials" } as const;
    await auditToken(transaction, { ...event, client, clientIp, grantId, user: undefined });
    return tokens;
  });
}
