import type { Transaction } from "@tidings/store/database";
import { appendAudit } from "../identity/audit.ts";
import type { OAuthClient } from "./client.ts";

export interface TokenEvent {
  action: "token_issued" | "token_revoked" | "token_reuse_detected" | "token_of_another_client";
  client: OAuthClient;
  user: { id: number; name: string } | undefined;
  clientIp: string;
  grantId: string;
  /** By what: a grant type, or the kind of the token. */
  by: string;
}

/** Notes what happened to the tokens of a grant, in the transaction in which it happens. */
export async function auditToken(transaction: Transaction, event: TokenEvent): Promise<void> {
  const { action, client, user, clientIp, grantId, by } = event;
  const actor = user ? { kind: "user", ...user } : { kind: "client", id: null, name: client.name };
  const details = { client: client.publicId, by };
  await appendAudit(transaction, [
    { action, actor, clientIp, objectType: "oauth_grant", objectId: grantId, details },
  ]);
}

/** Notes that a client sent what belongs to another one: a copy is about. */
export async function auditForeign(
  transaction: Transaction,
  { client, clientIp }: { client: OAuthClient; clientIp: string },
  { grantId, user }: Pick<TokenEvent, "grantId" | "user">,
  by: string,
): Promise<void> {
  await auditToken(transaction, { action: "token_of_another_client", client, user, clientIp, grantId, by });
}
