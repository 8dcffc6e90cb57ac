import { prepared } from "@tidings/database/database";
import type { Request, Response } from "express";
import { addressKey } from "../limits/address-key.ts";
import { digest } from "../secret.ts";
import { FAMILY_COLUMNS, familyOf, revokeGrant } from "./grant.ts";
import { OAuthError } from "./oauth-error.ts";
import { auditToken } from "./token.ts";
import { openClientRequest, type TokenEndpointOptions } from "./token-endpoint.ts";
import { exchangeInTransaction, type TokenRequest } from "./token-request.ts";

const lockStatement = prepared(
  "oauth_revocation_lock",
  `select t.kind, t.revoked_at, ${FAMILY_COLUMNS}
   from oauth_tokens t join oauth_grants g on g.id = t.grant_id left join users u on u.id = g.user_id
   where t.hash = $1 for update of t, g`,
);
const revokeStatement = prepared(
  "oauth_token_revoke",
  "update oauth_tokens set revoked_at = now() where hash = $1",
);

/** Ends a token at the wish of its client (RFC 7009); a refresh token takes its family along. */
export function revocationEndpoint(options: TokenEndpointOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const { parameters, ...sender } = await openClientRequest(request, response, options);
    await revokeToken(options, { ...sender, parameter: parameters.text });
    await options.rates.address.reward(addressKey(sender.clientIp), 1);
    response.setHeader("Content-Type", "application/json");
    response.end("{}");
  };
}

async function revokeToken(
  { database }: TokenEndpointOptions,
  { client, clientIp, deadlineMs, parameter }: TokenRequest,
): Promise<void> {
  const token = parameter("token");
  if (!token) throw new OAuthError("invalid_request", 'Missing parameter. "token" is required');
  const hash = digest(token);
  await exchangeInTransaction(database, deadlineMs, async (transaction) => {
    const [row] = await transaction.query(lockStatement, [hash]);
    // A token that is not there is as good as revoked (RFC 7009, 2.2).
    if (!row) return;
    const { clientId, grantId, user, isAlive } = familyOf(row);
    if (clientId !== client.id)
      return new OAuthError("invalid_grant", "The token was issued to another client");
    if (!isAlive || row.revoked_at !== null) return;
    if (row.kind === "refresh") await revokeGrant(transaction, grantId);
    else transaction.execute(revokeStatement, [hash]);
    const by = `${row.kind} token`;
    await auditToken(transaction, { action: "token_revoked", client, clientIp, grantId, user, by });
  });
}
