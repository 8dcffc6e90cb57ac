import { prepared } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";

export interface AuditEntry {
  action: string;
  actor: { kind: string; id: number | null; name: string } | undefined;
  clientIp: string | undefined;
  objectType: string;
  objectId: string;
  details: object;
}

const insertStatement = prepared(
  "audit_insert",
  `insert into audit (action, actor_kind, actor_id, actor_name, client_ip, object_type, object_id, details)
   values ($1, $2, $3, $4, $5, $6, $7, $8)`,
);

/** Notes what was done, in the transaction that does it. */
export async function appendAudit(transaction: Transaction, entries: AuditEntry[]): Promise<void> {
  for (const { action, actor, clientIp, objectType, objectId, details } of entries) {
    const who = [actor?.kind ?? null, actor?.id ?? null, actor?.name ?? null, clientIp ?? null];
    transaction.execute(insertStatement, [action, ...who, objectType, objectId, JSON.stringify(details)]);
  }
}
