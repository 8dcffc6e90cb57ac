import { prepared } from "@tidings/database/database";
import { parseJson } from "@tidings/resource/json-member";
import type { Call } from "@tidings/rpc/call";
import { Fault, notFound } from "@tidings/rpc/fault";
import { isoTime } from "../field/value.ts";
import { type ContactRow, doNotContactOf } from "../rows/contact.ts";
import { applyDoNotContact, readAddition } from "./do-not-contact.ts";
import { editContact } from "./edit.ts";
import type { ContactContext } from "./save.ts";
import { liftSuppressions } from "./suppression.ts";

const nextEntryId = prepared("do_not_contact_next_id", "select nextval('do_not_contact_id') as id");

/** Sets the do-not-contact entry of a channel, under the same rules as a body's `doNotContact`. */
export function addDoNotContact(
  context: ContactContext,
  request: { id: number; channel: string; entry: Uint8Array },
  call: Call,
): Promise<ContactRow> {
  const sent = request.entry.length > 0 ? parseJson(request.entry) : {};
  const change = readAddition(request.channel, sent);
  if (change instanceof Fault) throw change;
  return editContact(context, request.id, call, async (row, { transaction, now }) => {
    const entries = doNotContactOf(row);
    const before = Object.hasOwn(entries, change.channel) ? entries[change.channel] : undefined;
    const [next] = await transaction.query(nextEntryId);
    const after = applyDoNotContact(before, change, isoTime(now), () => Number(next?.id));
    if (after === before || !after) return row;
    return { ...row, do_not_contact: JSON.stringify({ ...entries, [change.channel]: after }) };
  });
}

/** Lifts the entry of a channel. `found`: there was one. */
export async function removeDoNotContact(
  context: ContactContext,
  { id, channel }: { id: number; channel: string },
  call: Call,
): Promise<{ found: boolean; row: ContactRow }> {
  if (channel === "") throw notFound();
  let found = false;
  const row = await editContact(context, id, call, (before, { transaction }) => {
    liftSuppressions(transaction, [{ row: before, channel }], context.suppressionKey);
    const { [channel]: _lifted, ...others } = doNotContactOf(before);
    found = Object.hasOwn(doNotContactOf(before), channel);
    return found ? { ...before, do_not_contact: JSON.stringify(others) } : before;
  });
  return { found, row };
}
