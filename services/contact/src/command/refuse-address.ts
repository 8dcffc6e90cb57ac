import { type Database, prepared } from "@tidings/database/database";
import { type SuppressionKey, suppressAddress } from "../contact/suppression.ts";

const FOUND_MAX = 1_000;
const findStatement = prepared(
  "contacts_of_address",
  `select id from contacts where lower(email) = lower($1) order by id limit ${FOUND_MAX}`,
);

/** The contacts with an email address, whose entries are the caller's to write. An address that no contact has is suppressed. */
export async function refuseAddress(
  database: Database,
  { address, reason, key }: { address: string; reason: number; key: SuppressionKey },
  deadlineMs: number,
): Promise<number[]> {
  return database.transaction(deadlineMs, async (transaction) => {
    const rows = await transaction.query(findStatement, [address]);
    if (rows.length === 0) suppressAddress(transaction, { channel: "email", address, reason }, key);
    return rows.map(({ id }) => Number(id));
  });
}
