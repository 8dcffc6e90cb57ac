import { createGrant } from "./grant.ts";
import { grantTokens } from "./grant-tokens.ts";
import { OAuthError } from "./oauth-error.ts";
import type { IssuedTokens } from "./token.ts";
import type { TokenRequest, TokenServices } from "./token-request.ts";

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
