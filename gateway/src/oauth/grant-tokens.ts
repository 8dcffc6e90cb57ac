import type { Transaction } from "@tidings/store/database";
import { type GrantType, touchClient } from "./client.ts";
import type { Family } from "./family.ts";
import { revokeGrant } from "./grant.ts";
import { type IssuedTokens, issueTokens } from "./token.ts";
import { auditToken } from "./token-audit.ts";
import type { TokenRequest, TokenServices } from "./token-request.ts";

/** What was proved to be worth tokens. */
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
