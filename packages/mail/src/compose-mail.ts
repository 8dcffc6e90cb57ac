import { attachmentPart, type MailAttachment } from "./attachment.ts";
import { bodyPart, multipart } from "./body-part.ts";
import { type DkimKey, signMail } from "./dkim.ts";
import { headerLine, headerPhrase, headerText, withoutControls } from "./header-line.ts";
import { wireAddress } from "./mail-address.ts";

export interface Mailbox {
  name: string;
  address: string;
}

/** A mail before it is written. A bcc is none of its headers and belongs to the envelope. */
export interface MailParts {
  /** Without angle brackets, e.g. `01abc@mail.example`. */
  messageId: string;
  date: Date;
  from: Mailbox;
  replyTo?: Mailbox;
  to: Mailbox[];
  cc?: Mailbox[];
  subject: string;
  /** Empty for a mail of text only. */
  html: string;
  /** Empty for a mail of HTML only. */
  text: string;
  headers: [name: string, value: string][];
  attachments: MailAttachment[];
}

/** The mail cannot be written: the field says why. No other attempt with the same parts helps. */
export class MailInvalid extends Error {
  override name = "MailInvalid";
  readonly field: "from" | "replyTo" | "to" | "cc" | "messageId" | "date";

  constructor(field: MailInvalid["field"], reason: string) {
    super(`${field}: ${reason}`);
    this.field = field;
  }
}

/** RFC 5322, 3.6.4, and short enough for one line. */
const MESSAGE_ID = /^[\w!#$%&'*+/=?^`{|}~.-]{1,400}@[\w.:[\]-]{1,400}$/;
/** RFC 5322, 2.2. A longer name would leave no place for a value in its line. */
const FIELD_NAME = /^[\x21-\x39\x3b-\x7e]{1,76}$/;
const OWN_FIELD =
  /^(?:from|to|cc|bcc|date|message-id|mime-version|content-.*|reply-to|subject|sender|return-path|dkim-signature|received)$/i;

/**
 * A mail in pieces, each of which ends with a line (RFC 5322, MIME by RFC 2045 to 2047): CRLF alone ends lines, none is longer than 998 octets. Text and HTML
 * become multipart/alternative, within multipart/mixed beside attachments. No value adds a header: control characters are spaces. Of
 * `headers`, a field without a valid name or with a name that the mail has of its own is left out. The keys of the sender's domain sign
 * it. Attachments are pieces that all their mails share. Throws MailInvalid.
 */
export async function composeMail(parts: MailParts, dkimKeys: DkimKey[] = []): Promise<Buffer[]> {
  if (!MESSAGE_ID.test(parts.messageId)) throw new MailInvalid("messageId", "is not a message id");
  if (Number.isNaN(parts.date.getTime())) throw new MailInvalid("date", "is not a date");
  const html = bodyText(parts.html);
  const text = bodyText(parts.text);
  const body = bodyPart(text, html);
  const files = await Promise.all(parts.attachments.map(attachmentPart));
  const [head = body, ...pieces] = files.length > 0 ? multipart("mixed", [[body], ...files]) : [body];
  const mail = [Buffer.concat([Buffer.from(topHeaders(parts)), head]), ...pieces];
  return signMail(mail, wireAddress(parts.from.address) ?? "", dkimKeys);
}

function topHeaders(parts: MailParts): string {
  const { from, replyTo, to, cc = [], subject, headers, messageId, date } = parts;
  const lines = [headerLine("From", mailbox("from", from))];
  if (to.length > 0) lines.push(headerLine("To", mailboxes("to", to)));
  if (cc.length > 0) lines.push(headerLine("Cc", mailboxes("cc", cc)));
  if (replyTo) lines.push(headerLine("Reply-To", mailbox("replyTo", replyTo)));
  lines.push(headerLine("Subject", headerText(withoutControls(subject))));
  for (const [name, value] of headers) {
    const text = withoutControls(value);
    if (!isAddable(name) || text === "") continue;
    lines.push(headerLine(name, headerText(text)));
  }
  lines.push(
    headerLine("Message-ID", `<${messageId}>`),
    headerLine("Date", date.toUTCString().replace("GMT", "+0000")),
    headerLine("MIME-Version", "1.0"),
  );
  return lines.join("");
}

function isAddable(name: string): boolean {
  return FIELD_NAME.test(name) && !OWN_FIELD.test(name);
}

function mailboxes(field: MailInvalid["field"], all: Mailbox[]): string {
  return all.map((one) => mailbox(field, one)).join(", ");
}

function mailbox(field: MailInvalid["field"], { name, address }: Mailbox): string {
  const written = wireAddress(address);
  if (written === undefined) throw new MailInvalid(field, "is not an address");
  const shown = withoutControls(name);
  return shown === "" ? `<${written}>` : `${headerPhrase(shown)} <${written}>`;
}

/** The body with CRLF as its only line end, or nothing when it holds no text. */
function bodyText(body: string): string {
  return body.trim() === "" ? "" : body.toWellFormed().replace(/\r\n|\r|\n/g, "\r\n");
}
