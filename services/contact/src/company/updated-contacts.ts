import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Transaction } from "@tidings/database/transaction";
import type { Outbox } from "@tidings/messaging/outbox";
import type { ContactSavedSchema } from "@tidings/proto/tidings/contact/v1/events";
import { slices } from "@tidings/runtime/slices";
import { contactUpdated } from "../contact/events.ts";
import { wholeContacts } from "../contact/whole.ts";
import type { FieldSet } from "../field/catalogue.ts";
import { withCustomValues } from "../field/values.ts";

/** The members of an event besides the snapshot. */
export type ContactChanges = Omit<MessageInitShape<typeof ContactSavedSchema>, "$typeName">;

/** Contacts that are read at once. */
const SLICE = 500;

/**
 * Appends an event for each contact that a statement changed with its company. They are read again within the transaction, slice by slice: a
 * company may have very many.
 */
export async function appendUpdated(
  transaction: Transaction,
  { set, outbox }: { set: FieldSet; outbox: Outbox },
  changed: ReadonlyMap<number, ContactChanges>,
): Promise<void> {
  for (const ids of slices([...changed.keys()], SLICE)) {
    const rows = await wholeContacts(transaction.query, ids);
    outbox.append(
      transaction,
      rows.map((row) => contactUpdated(withCustomValues(row, set), changed.get(Number(row.id)) ?? {})),
    );
  }
}
