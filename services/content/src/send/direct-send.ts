import { type Database, queryable } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import type { Email, EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Handlers } from "@tidings/rpc/definition";
import { notFound } from "@tidings/rpc/fault";
import type { KnownContacts } from "../visit/known-contact.ts";
import { chooseMember } from "./choose-contact.ts";
import type { AskContactable } from "./contactable.ts";
import { directOccasion } from "./direct-occasion.ts";
import { emailsOfOccasion } from "./emails-of-occasion.ts";
import { NO_TRANSPORT } from "./mail-parts.ts";
import { readAttachments } from "./read-attachments.ts";
import { readTokens } from "./read-tokens.ts";
import { requireContact } from "./require-contact.ts";
import { sendAction } from "./send-action.ts";

export interface DirectSendOptions {
  database: Database;
  outbox: Outbox;
  rows: Repository<Email>;
  findVisible: FindVisible;
  askContactable: AskContactable;
  knownContacts: KnownContacts;
  /** Is there a way for mails to leave? */
  hasTransport: boolean;
  /** Called once a send is chosen. */
  wake(): void;
}

/** Answered in words: each reason of the contact service that holds against every mail. */
const REFUSALS: Record<string, string> = {
  unsubscribed: "Contact has requested to not be emailed.",
  bounced: "Mail to this contact came back.",
  manual: "Contact was marked as one to not be emailed.",
  suppressed: "The address is one to not be emailed.",
};

/** A reason for which a contact is not written to, in words. */
export function refusalInWords(reason: string): string {
  return (Object.hasOwn(REFUSALS, reason) && REFUSALS[reason]) || reason;
}

const LOCALE = "preferred_locale";

/** The method that sends an email to one contact: of its family what the contact gets (engines.md 6.3). Under an idempotency key once, however late it comes again. */
export function directSender({
  database,
  outbox,
  rows,
  findVisible,
  askContactable,
  knownContacts,
  hasTransport,
  wake,
}: DirectSendOptions): Handlers<typeof EmailMethodService>["sendEmailToContact"] {
  return async ({ id, contactId, tokens, assetAttachments }, call) => {
    await rows.get(id, call);
    await requireContact(findVisible, contactId, call);
    const values = readTokens(tokens);
    const occasion = directOccasion(call);
    const asked = { itemId: id, occasion, contactIds: [contactId] };
    const [before] = call.repeatName
      ? await emailsOfOccasion(queryable(database, call.deadlineMs), asked)
      : [];
    if (before?.hash) return { hash: before.hash, refusal: "" };
    const attachments = await readAttachments(assetAttachments, { database, findVisible }, call);
    if (!hasTransport) return { hash: "", refusal: NO_TRANSPORT };
    const [{ refusal }, fields] = await Promise.all([
      askContactable("email", contactId),
      knownContacts.fieldsOf(contactId, [LOCALE]),
    ]);
    if (refusal === "not_found") throw notFound();
    const no = Object.hasOwn(REFUSALS, refusal) && REFUSALS[refusal];
    if (no) return { hash: "", refusal: no };
    const hash = await database.transaction(call.deadlineMs, async (transaction) => {
      transaction.afterCommit(wake);
      outbox.append(transaction, [sendAction("email", id, "send", { contactId })]);
      const choosing = { transaction, outbox, now: database.now() };
      const of = { emailId: id, contactId, occasion, source: "api", sourceId: 0 };
      return chooseMember(choosing, { ...of, tokens: values, attachments }, fields.get(LOCALE) ?? "");
    });
    if (hash === undefined) throw notFound();
    return { hash, refusal: "" };
  };
}
