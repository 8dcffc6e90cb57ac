import type { Database } from "@tidings/database/database";
import { badRequest } from "@tidings/rpc/fault";
import { findClient, type OAuthClient } from "./client.ts";
import { OAuthError } from "./oauth-error.ts";
import { parametersOf } from "./parameters.ts";
import { isChallenge } from "./pkce.ts";

/** Where the answer to an authorization request may go: only a known client at an address it has registered. */
export interface AuthorizationTarget {
  client: OAuthClient;
  redirectUri: string;
}

const LOOKUP_MS = 5_000;

/**
 * Throws INVALID_ARGUMENT, for a page of ours, when the client or its redirect URI is not known: nobody is sent to an
 * address that a stranger wrote (RFC 6749, 4.1.2.1). The URI must be a registered one to the letter (RFC 9700, 2.1).
 */
export async function findTarget(database: Database, query: unknown): Promise<AuthorizationTarget> {
  const parameters = parametersOf(query);
  const client = await findClient(database, parameters.text("client_id") ?? "", Date.now() + LOOKUP_MS);
  if (!client)
    throw badRequest(
      "Tidings does not know the app that sent you here. Its maker has to fix this; you can close the page.",
    );
  const sent = parameters.text("redirect_uri");
  const [only, ...others] = client.redirectUris;
  const redirectUri = sent ?? (others.length === 0 ? only : undefined);
  if (redirectUri === undefined) throw badRequest("The app did not say where to return to.");
  if (!client.redirectUris.includes(redirectUri))
    throw badRequest("The app gave a return address that is not registered for it, so nothing was shared.");
  return { client, redirectUri };
}

/** The challenge of a request that may be granted (RFC 7636, 4.3). Throws the error that the client receives. */
export function checkAuthorization({ client }: AuthorizationTarget, query: unknown): string | undefined {
  const parameters = parametersOf(query);
  const responseType = parameters.text("response_type");
  if (responseType === undefined)
    throw new OAuthError("invalid_request", 'Missing parameter. "response_type" is required');
  if (responseType !== "code")
    throw new OAuthError("unsupported_response_type", "Only the response type code is supported");
  if (!client.grants.includes("authorization_code"))
    throw new OAuthError("unauthorized_client", "The grant type is unauthorized for this client_id");
  if (parameters.text("scope")) throw new OAuthError("invalid_scope", "An unsupported scope was requested.");
  const challenge = parameters.text("code_challenge");
  const method = parameters.text("code_challenge_method");
  if (challenge === undefined && method === undefined && !client.isPublic) return undefined;
  if (challenge === undefined || !isChallenge(challenge) || method !== "S256")
    throw new OAuthError("invalid_request", "A code_challenge with the method S256 is needed");
  return challenge;
}
