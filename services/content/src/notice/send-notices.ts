import { type Database, prepared, queryByIndex } from "@tidings/database/database";
import type { Result } from "@tidings/jobs/work";
import type { ReadAttachments } from "../send/attachments.ts";
import { composeSend, type UsualSender, type WrittenSend } from "../send/compose-send.ts";
import type { AskContactable, Contactable } from "../send/contactable.ts";
import type { SendOutcome } from "../send/hand-over.ts";
import { outcomeValues, recordedRows } from "../send/record-outcomes.ts";
import type { Notice } from "./notice-queue.ts";

export interface WriteNoticeOptions extends UsualSender {
  database: Database;
  attachmentsOf: ReadAttachments;
}

/** Writes the mail of a notice, marked as one that no person wrote: no program answers it (RFC 3834, 5). */
export async function writeNotice(
  { database, attachmentsOf, ...sender }: WriteNoticeOptions,
  { hash, address, mail }: Notice,
): Promise<WrittenSend & { note: string | undefined }> {
  const { attachments, headers, ...parts } = mail;
  const attached = await attachmentsOf(attachments);
  const isShown = mail.to.length + mail.cc.length > 0;
  const written = await composeSend(
    {
      ...parts,
      hash,
      address,
      to: isShown ? mail.to : [{ name: "", address }],
      headers: [...headers, ["Auto-Submitted", "auto-generated"]],
      attachments: attached.attachments,
    },
    { ...sender, now: database.now() },
  );
  return { ...written, note: attached.note };
}

/** Asks whether the contact may be written to; users and entered addresses always may. */
export async function askForNotice(ask: AskContactable, { contactId }: Notice): Promise<Contactable> {
  return contactId === undefined ? { refusal: "", isFresh: () => true } : ask("email", contactId);
}

const recordStatement = prepared("notices_record", `with ${recordedRows("notices")} select id from recorded`);

/** Records what became of notices. Those that this process lost meanwhile stay as they are. */
export async function recordNotices(
  database: Database,
  results: Result<Notice, SendOutcome>[],
): Promise<void> {
  await queryByIndex(database, recordStatement, outcomeValues(results));
}
