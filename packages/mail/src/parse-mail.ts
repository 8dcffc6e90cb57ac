import PostalMime from "postal-mime";

/** A part of a mail beside its texts. */
export interface MailPart {
  name: string;
  type: string;
  bytes: Buffer;
  /** The id by which the HTML names it (RFC 2392), without angle brackets; empty for none. */
  contentId: string;
}

/** A mail as a reader's program understands it (RFC 5322, 2045 to 2049). */
export interface ParsedMail {
  headers: { name: string; value: string }[];
  subject: string;
  from: string;
  html: string;
  text: string;
  attachments: MailPart[];
}

/** Bounds of a mail, beyond which it is no mail of ours. */
const LIMITS = { maxNestingDepth: 20, maxHeadersSize: 512 * 1024 };

/** Reads a mail, or the head of one. Throws for one that is nested or has headers beyond all measure. */
export async function parseMail(octets: Buffer): Promise<ParsedMail> {
  const mail = await PostalMime.parse(octets, { ...LIMITS, attachmentEncoding: "arraybuffer" });
  return {
    headers: mail.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
    subject: mail.subject ?? "",
    from: [mail.from?.name, mail.from?.address && `<${mail.from.address}>`].filter(Boolean).join(" "),
    html: mail.html ?? "",
    text: mail.text ?? "",
    attachments: mail.attachments.map(({ filename, mimeType, content, contentId }) => ({
      name: filename ?? "",
      type: mimeType,
      bytes: Buffer.from(content as ArrayBuffer),
      contentId: (contentId ?? "").replace(/^<|>$/g, ""),
    })),
  };
}
