import MimeNode from "nodemailer/lib/mime-node";
import { withoutControls } from "./header-line.ts";

export interface MailAttachment {
  name: string;
  /** A media type, e.g. `application/pdf`. */
  type: string;
  bytes: Buffer;
}

/** File systems keep names of 255 octets. A longer one is cut before its ending. */
const NAME_BYTES_MAX = 255;
const ENDING_BYTES_MAX = 32;
const MEDIA_TYPE = /^[a-z0-9][a-z0-9!#$&^_.+-]{0,126}\/[a-z0-9][a-z0-9!#$&^_.+-]{0,126}$/i;
/** Parts of such a type may not be encoded as base64 (RFC 2046, 5.1 and 5.2.1). Their octets would be read as lines of this mail. */
const COMPOSITE = /^(?:multipart|message)\//i;
const OCTETS = "application/octet-stream";
const CRLF = Buffer.from("\r\n");
const HEAD_END = "\r\n\r\n";

/** Parts of attachments that are still in use: one that goes with many mails is written once. */
const written = new WeakMap<MailAttachment, Promise<Buffer[]>>();

/** An attachment as a part of a mail: its MIME headers, and base64, so that its octets arrive unchanged, ended by CRLF. */
export function attachmentPart(attachment: MailAttachment): Promise<Buffer[]> {
  const known = written.get(attachment);
  if (known) return known;
  const part = writePart(attachment);
  written.set(attachment, part);
  return part;
}

async function writePart({ name, type, bytes }: MailAttachment): Promise<Buffer[]> {
  const contentType = MEDIA_TYPE.test(type) && !COMPOSITE.test(type) ? type : OCTETS;
  // The library writes names that are no ASCII (RFC 2231). Only its root has the headers of a mail.
  const node = new MimeNode("multipart/mixed").createChild(contentType, { filename: attachmentName(name) });
  node.setHeader("Content-Disposition", "attachment").setHeader("Content-Transfer-Encoding", "base64");
  const part = await node.setContent(bytes).build();
  const bodyAt = part.indexOf(HEAD_END) + HEAD_END.length;
  const [head, body] = [part.subarray(0, bodyAt), part.subarray(bodyAt)];
  return part.subarray(-2).equals(CRLF) ? [head, body] : [head, body, CRLF];
}

/**
 * The name that readers show: one line, no path, 255 octets at most; `attachment` where the name is empty. Readers decode what looks
 * like an encoded word, so no name does.
 */
export function attachmentName(name: string): string {
  const shown =
    withoutControls(
      withoutControls(name)
        .replace(/[/\\]+/g, " ")
        .replaceAll("=?", "=_"),
    ) || "attachment";
  if (Buffer.byteLength(shown) <= NAME_BYTES_MAX) return shown;
  const dot = shown.lastIndexOf(".");
  const ending = dot > 0 && Buffer.byteLength(shown.slice(dot)) <= ENDING_BYTES_MAX ? shown.slice(dot) : "";
  return cut(shown, NAME_BYTES_MAX - Buffer.byteLength(ending)) + ending;
}

/** The longest beginning of at most so many octets that divides no character. */
function cut(text: string, bytesMax: number): string {
  const bytes = Buffer.alloc(bytesMax);
  const { read } = new TextEncoder().encodeInto(text, bytes);
  return text.slice(0, read).trimEnd();
}
