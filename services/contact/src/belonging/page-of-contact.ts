import type { Database } from "@tidings/database/database";
import type { Row, Statement } from "@tidings/database/statement";
import type { Call } from "@tidings/rpc/call";
import { visibleContact } from "../contact/referred.ts";

/** The rows of a contact that `list` finds by its id, an offset and a limit, and how many `count` counts. Throws NOT_FOUND for a contact that the caller does not see. */
export async function pageOfContact(
  database: Database,
  { list, count }: { list: Statement; count: Statement },
  { contactId, skip, pageSize }: { contactId: number; skip: number; pageSize: number },
  call: Call,
): Promise<{ rows: Row[]; totalSize: number }> {
  const id = await visibleContact(database, contactId, call);
  const [rows, [total]] = await Promise.all([
    database.query(list, [id, skip, pageSize], call.deadlineMs),
    database.query(count, [id], call.deadlineMs),
  ]);
  return { rows, totalSize: Number(total?.count) };
}
