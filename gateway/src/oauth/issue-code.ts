import { type Database, prepared, type Transaction } from "@tidings/store/database";
import { appendAudit } from "../identity/audit.ts";
import type { AuthorizationTarget } from "./authorization-request.ts";
import { createGrant } from "./grant.ts";
import { CODE_SECONDS } from "./lifetimes.ts";
import { digest, newSecret } from "./secret.ts";

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
