import { prepared } from "@tidings/database/database";
import type { Queryable, Transaction } from "@tidings/database/transaction";
import { appendAudit } from "../identity/audit.ts";
import { digest, newSecret } from "../secret.ts";
import type { OAuthClient } from "./client.ts";
import { FAMILY_DAYS_MAX, type TokenLifetimes } from "./token-request.ts";

export interface IssuedTokens {
  accessToken: string;
  accessSeconds: number;
  refreshToken: string | undefined;
}

export interface TokenIssue {
  grantId: string;
  lifetimes: TokenLifetimes;
  withRefresh: boolean;
  /** Digest of the code or refresh token that these replace. */
  parent: string | undefined;
}

const insertStatement = prepared(
  "oauth_token_insert",
  `insert into oauth_tokens (hash, kind, grant_id, parent, expires_at)
   select t.hash, t.kind, g.id, $4,
     least(now() + make_interval(secs => t.seconds), g.date_added + interval '${FAMILY_DAYS_MAX} days')
   from oauth_grants g, (values ($2::text, 'access', $5::int), ($3::text, 'refresh', $6::int)) as t (hash, kind, seconds)
   where g.id = $1 and t.hash is not null
   returning kind, floor(extract(epoch from expires_at - now())) as seconds`,
);

/** Makes the tokens of a grant. The clock of the database decides when they end. */
export async function issueTokens(queryable: Queryable, issue: TokenIssue): Promise<IssuedTokens> {
  const { grantId, lifetimes, withRefresh, parent } = issue;
  const accessToken = newSecret("at");
  const refreshToken = withRefresh ? newSecret("rt") : undefined;
  const rows = await queryable.query(insertStatement, [
    grantId,
    digest(accessToken),
    refreshToken ? digest(refreshToken) : null,
    parent ?? null,
    lifetimes.accessSeconds,
    lifetimes.refreshSeconds,
  ]);
  const accessSeconds = Number(rows.find(({ kind }) => kind === "access")?.seconds);
  return { accessToken, accessSeconds, refreshToken };
}

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
