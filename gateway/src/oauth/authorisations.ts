import { type Database, prepared } from "@tidings/database/database";
import { appendAudit } from "../identity/audit.ts";

/** An app that a user has let in. */
export interface Authorisation {
  clientId: number;
  clientName: string;
  /** In UTC, to the minute. */
  since: string;
}

const listStatement = prepared(
  "oauth_authorisations",
  `select c.id, c.name, to_char(min(g.date_added) at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as since
   from oauth_grants g join oauth_clients c on c.id = g.client_id
   where g.user_id = $1 and g.revoked_at is null group by c.id order by lower(c.name), c.id`,
);

/** The apps that may act for a user. */
export async function listAuthorisations(
  database: Database,
  userId: number,
  deadlineMs: number,
): Promise<Authorisation[]> {
  const rows = await database.query(listStatement, [userId], deadlineMs);
  return rows.map(({ id, name, since }) => ({
    clientId: Number(id),
    clientName: name ?? "",
    since: since ?? "",
  }));
}

const revokeStatement = prepared(
  "oauth_authorisation_revoke",
  `update oauth_grants set revoked_at = now() where user_id = $1 and client_id = $2 and revoked_at is null
   returning id`,
);

/** Takes back all that a user has granted to a client. */
export async function revokeAuthorisation(
  database: Database,
  { user, clientId, clientIp }: { user: { id: number; name: string }; clientId: number; clientIp: string },
  deadlineMs: number,
): Promise<void> {
  await database.transaction(deadlineMs, async (transaction) => {
    const revoked = await transaction.query(revokeStatement, [user.id, clientId]);
    if (revoked.length === 0) return;
    const actor = { kind: "user", id: user.id, name: user.name };
    const object = { objectType: "oauth_client", objectId: String(clientId) };
    const details = { grants: revoked.map(({ id }) => id) };
    await appendAudit(transaction, [{ action: "consent_revoked", actor, clientIp, ...object, details }]);
  });
}
