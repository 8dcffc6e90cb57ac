import type { Database } from "@tidings/database/database";
import type { ReadAttachments } from "./attachments.ts";
import { composeSend, SendRefused, type UsualSender, type WrittenSend } from "./compose-send.ts";
import type { MailLinks } from "./mail-links.ts";
import type { RenderSend } from "./render-send.ts";
import type { Send } from "./send-queue.ts";
import type { StoredSend } from "./stored-send.ts";

/** The field of a mail with the signed name of its send. */
export const SEND_FIELD = "X-Tidings-Send";

export interface WriteSendOptions extends UsualSender {
  database: Database;
  render: RenderSend;
  attachmentsOf: ReadAttachments;
  links: MailLinks;
  /** Headers by which a provider names the send in its reports. */
  marks(hash: string): [string, string][];
}

/** Writes the mail of a send. Throws SendRefused for a contact without an address. */
export async function writeSend(
  { database, links, marks, render, attachmentsOf, ...sender }: WriteSendOptions,
  send: Send,
): Promise<WrittenSend & { mailValues: string | undefined; note: string | undefined; assetIds: number[] }> {
  const { mail, revision, address: present, values } = await render(send);
  const address = send.address ?? present;
  if (address === "") throw new SendRefused("The contact has no email address.");
  const { attachments, note, assetIds } = await attachmentsOf(send.attachments ?? revision.assetAttachments);
  const written = await composeSend(
    {
      ...mail,
      hash: send.hash,
      address,
      returnAddress: links.returnAddresses?.of(send.hash),
      bcc: revision.bccAddress,
      to: [{ name: "", address }],
      headers: [...headersOf(mail.headers, send, links), ...marks(send.hash)],
      attachments,
    },
    { ...sender, now: database.now() },
  );
  return { ...written, mailValues: values, note, assetIds };
}

/** The headers of the mail of a send: a field of ours stands once, whatever the author of the email wrote. */
export function headersOf(
  written: [string, string][],
  send: StoredSend,
  links: MailLinks,
): [string, string][] {
  const own = ownHeaders(send, links);
  const names = new Set(own.map(([name]) => name.toLowerCase()));
  return [...written.filter(([name]) => !names.has(name.toLowerCase())), ...own];
}

/**
 * engines.md 6.11, and RFC 2369, 8058 and 2919 for mails to many. A complaint has the mail's header, but often none of its addresses: so the signed
 * name of the send stands there alone, too.
 */
function ownHeaders(send: StoredSend, links: MailLinks): [string, string][] {
  const { emailId, isBulk } = send;
  const inbox = links.returnAddresses;
  const headers: [string, string][] = [["X-EMAIL-ID", String(emailId)]];
  if (inbox) headers.push([SEND_FIELD, inbox.tokenOf(send.hash)]);
  if (!isBulk) return headers;
  const byMail = inbox ? [`mailto:${inbox.of(send.hash)}?subject=unsubscribe`] : [];
  const { host } = links;
  return [
    ...headers,
    ["Precedence", "Bulk"],
    ["List-ID", `<email-${emailId}.${host}>`],
    ["List-Unsubscribe", [links.unsubscribe(send), ...byMail].map((url) => `<${url}>`).join(", ")],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
    ["Feedback-ID", `${emailId}:email:${host}`],
  ];
}
