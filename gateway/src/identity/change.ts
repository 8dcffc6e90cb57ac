import { type Database, joined, prepared } from "@tidings/database/database";
import { advisoryLock } from "@tidings/database/lock";
import type { Transaction } from "@tidings/database/transaction";
import { Code, Fault } from "@tidings/rpc/fault";

const identityLock = advisoryLock("identity");

/**
 * A change of users and roles, in one transaction. They come one after the other, over all gateways: their rules look at
 * other rows than those that change. `within` is the database for what else is to happen in the transaction.
 */
export function changeIdentity<T>(
  database: Database,
  deadlineMs: number,
  work: (transaction: Transaction, within: Database) => Promise<T>,
): Promise<T> {
  return database.transaction(deadlineMs, async (transaction) => {
    identityLock.exclusive(transaction);
    return work(transaction, joined(database, transaction));
  });
}

const administratorStatement = prepared(
  "identity_administrator",
  `select 1 from users u join roles r on r.id = u.role_id
   where u.is_published and r.is_published and r.is_admin limit 1`,
);

/** Takes a change back that leaves nobody who may do everything. */
export async function requireAdministrator(transaction: Transaction): Promise<void> {
  const rows = await transaction.query(administratorStatement);
  if (rows.length > 0) return;
  const message = "The last administrator has to stay.";
  throw new Fault({ code: Code.FAILED_PRECONDITION, reason: "LAST_ADMINISTRATOR", message });
}
