import type { Request, Response } from "express";
import type { RateLimiterAbstract } from "rate-limiter-flexible";
import type { ClientIp } from "../client-ip.ts";
import { addressKey } from "../limits/address-key.ts";
import { consume, type Redis, rateLimiter } from "../limits/rate-limit.ts";
import { BUDGET_MS } from "../rest/exchange.ts";
import { redeemCode } from "./authorization-code.ts";
import type { GrantType, OAuthClient } from "./client.ts";
import { authenticateClient } from "./client-authentication.ts";
import { issueClientToken } from "./grant.ts";
import { OAuthError } from "./oauth-error.ts";
import { type Parameters, readParameters } from "./parameters.ts";
import { refreshTokens } from "./refresh-tokens.ts";
import type { IssuedTokens } from "./token.ts";
import type { TokenRequest, TokenServices } from "./token-request.ts";

const WINDOW_SECONDS = 60;
/** Requests that fail. */
const BY_ADDRESS = 30;

/** How often a client may ask for tokens in a minute, and how often an address may fail to. */
export function tokenRates(redis: Redis | undefined, perClient: number): TokenRates {
  const limit = (name: string, points: number) =>
    rateLimiter({ name, points, windowSeconds: WINDOW_SECONDS, redis });
  return { client: limit("token-client", perClient), address: limit("token-address", BY_ADDRESS) };
}

export interface TokenRates {
  client: RateLimiterAbstract;
  address: RateLimiterAbstract;
}

export interface TokenEndpointOptions extends TokenServices {
  rates: TokenRates;
  clientIp: ClientIp;
}

const EXCHANGES: Record<
  GrantType,
  (services: TokenServices, request: TokenRequest) => Promise<IssuedTokens>
> = {
  authorization_code: redeemCode,
  refresh_token: refreshTokens,
  client_credentials: issueClientToken,
};

/** A grant type of RFC 6749 that no client may use. */
const NEVER_GRANTED = "password";

/** Tokens for a client (RFC 6749, 3.2). Answers a request only after it was counted. */
export function tokenEndpoint(options: TokenEndpointOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const { parameters, client, clientIp, deadlineMs } = await openClientRequest(request, response, options);
    const grantType = parameters.text("grant_type") ?? "";
    if (!isGrantType(grantType) && grantType !== NEVER_GRANTED)
      throw new OAuthError("invalid_request", "Invalid grant_type parameter or parameter missing");
    if (!isGrantType(grantType) || !client.grants.includes(grantType))
      throw new OAuthError("unauthorized_client", "The grant type is unauthorized for this client_id");
    if (parameters.text("scope"))
      throw new OAuthError("invalid_scope", "An unsupported scope was requested.");
    const tokens = await EXCHANGES[grantType](options, {
      client,
      clientIp,
      deadlineMs,
      parameter: parameters.text,
    });
    await options.rates.address.reward(addressKey(clientIp), 1);
    sendTokens(response, tokens);
  };
}

function isGrantType(text: string): text is GrantType {
  return Object.hasOwn(EXCHANGES, text);
}

interface ClientRequest {
  parameters: Parameters;
  client: OAuthClient;
  clientIp: string;
  deadlineMs: number;
}

/**
 * Reads a request that a client makes for itself, counts it and finds out who sent it. Its address is given back what it was
 * counted once the request succeeds: of an address only failures count. A client is counted after it has
 * proved who it is: nobody else can use up what it may ask for. A public one proves nothing, so it is counted by address.
 */
export async function openClientRequest(
  request: Request,
  response: Response,
  { database, rates, clientIp }: TokenEndpointOptions,
): Promise<ClientRequest> {
  const address = clientIp(request);
  await consume(rates.address, addressKey(address), response);
  const parameters = await readParameters(request);
  const deadlineMs = Date.now() + BUDGET_MS.write;
  const client = await authenticateClient(request, parameters, { database, deadlineMs });
  await consume(
    rates.client,
    client.isPublic ? `${client.id} ${addressKey(address)}` : String(client.id),
    response,
  );
  return { parameters, client, clientIp: address, deadlineMs };
}

function sendTokens(response: Response, { accessToken, accessSeconds, refreshToken }: IssuedTokens): void {
  response.setHeader("cache-control", "no-store");
  response.setHeader("pragma", "no-cache");
  response.setHeader("Content-Type", "application/json");
  response.end(
    JSON.stringify({
      access_token: accessToken,
      expires_in: accessSeconds,
      token_type: "bearer",
      scope: "",
      ...(refreshToken && { refresh_token: refreshToken }),
    }),
  );
}
