import { prepared } from "@tidings/database/database";
import { ContactSchema } from "@tidings/proto/tidings/contact/v1/contact";
import type { Call } from "@tidings/rpc/call";
import { lockRemovable, type RemoveOutcome } from "../record/remove.ts";
import { contactTable } from "../rows/contact.ts";
import { contactDeleted } from "./events.ts";
import type { ContactContext } from "./save.ts";
import { keepSuppressions } from "./suppression.ts";

const deleteStatement = prepared("contacts_delete", "delete from contacts where id = any ($1::integer[])");

/** Deletes contacts, each on its own, and answers them as they were. What they did not want stays known. */
export async function removeContacts(
  context: ContactContext,
  ids: number[],
  call: Call,
): Promise<RemoveOutcome[]> {
  const { contact: set } = await context.catalogues.current();
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const kind = { type: ContactSchema.typeName, table: contactTable, set, ownerColumn: "owner_id" as const };
    const { outcomes, removed } = await lockRemovable(transaction, kind, ids, call);
    keepSuppressions(transaction, removed, context.suppressionKey);
    transaction.execute(deleteStatement, [removed.map(({ id }) => id)]);
    context.outbox.append(
      transaction,
      removed.map((row) => contactDeleted(row)),
    );
    return outcomes;
  });
}
