import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { denied, type Fault, notFound } from "@tidings/rpc/fault";
import { prepared } from "@tidings/store/database";
import { withCustomValues } from "../field/values.ts";
import { mayReach } from "../record/reach.ts";
import { contactDeleted } from "./events.ts";
import { type ContactRow, contactTable } from "./row.ts";
import type { ContactContext } from "./save.ts";
import { keepSuppressions } from "./suppression.ts";

const deleteStatement = prepared("contacts_delete", "delete from contacts where id = any ($1::integer[])");

/** Deletes contacts, each on its own, and answers them as they were. What they did not want stays known. */
export async function removeContacts(
  context: ContactContext,
  ids: number[],
  call: Call,
): Promise<({ row: ContactRow } | { fault: Fault })[]> {
  const { contact: set } = await context.catalogues.current();
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const rows = await contactTable.lock(transaction, ids, []);
    const known = new Map(rows.map((row) => [Number(row.id), withCustomValues(row, set)]));
    const outcomes = ids.map((id) => {
      const row = known.get(id);
      if (!row || !mayReach(call, Verb.VIEW, row, "owner_id")) return { fault: notFound() };
      if (!mayReach(call, Verb.DELETE, row, "owner_id")) return { fault: denied() };
      known.delete(id); // named twice, deleted once
      return { row };
    });
    const deleted = outcomes.flatMap((outcome) => ("row" in outcome ? [outcome.row] : []));
    keepSuppressions(transaction, deleted, context.suppressionKey);
    transaction.execute(deleteStatement, [deleted.map(({ id }) => id)]);
    context.outbox.append(transaction, deleted.map(contactDeleted));
    return outcomes;
  });
}
