import { Verb } from "@tidings/proto/tidings/api/v1/options";
import type { Call } from "@tidings/rpc/call";
import { denied, type Fault, notFound } from "@tidings/rpc/fault";
import { prepared } from "@tidings/store/database";
import { contactDeleted } from "./events.ts";
import { lockMatching } from "./identifier.ts";
import { mayReach } from "./reach.ts";
import type { ContactRow } from "./row.ts";
import type { ContactContext } from "./save.ts";

const deleteStatement = prepared("contacts_delete", "delete from contacts where id = any ($1::integer[])");

/** Deletes contacts, each on its own, and answers them as they were. */
export function removeContacts(
  context: ContactContext,
  ids: number[],
  call: Call,
): Promise<({ row: ContactRow } | { fault: Fault })[]> {
  return context.database.transaction(call.deadlineMs, async (transaction) => {
    const rows = await lockMatching(transaction, ids, []);
    const known = new Map(rows.map((row) => [Number(row.id), row]));
    const outcomes = ids.map((id) => {
      const row = known.get(id);
      if (!row || !mayReach(call, Verb.VIEW, row)) return { fault: notFound() };
      if (!mayReach(call, Verb.DELETE, row)) return { fault: denied() };
      known.delete(id); // named twice, deleted once
      return { row };
    });
    const deleted = outcomes.flatMap((outcome) => ("row" in outcome ? [outcome.row] : []));
    transaction.execute(deleteStatement, [deleted.map(({ id }) => id)]);
    context.outbox.append(
      transaction,
      deleted.map((row) => contactDeleted(context, row)),
    );
    return outcomes;
  });
}
