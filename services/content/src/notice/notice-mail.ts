import type { EmailRevision } from "../send/email-revision.ts";
import type { RenderedMail } from "../send/render-mail.ts";
import type { NoticeMail } from "./notice-queue.ts";

/** The mail that an email is for somebody else than a contact, without its copies and with its attachments. */
export function noticeMailOf(
  rendered: RenderedMail,
  { assetAttachments }: Pick<EmailRevision, "assetAttachments">,
): NoticeMail {
  return { ...rendered, to: [], cc: [], attachments: assetAttachments };
}
