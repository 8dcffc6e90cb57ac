import MimeNode from "nodemailer/lib/mime-node";
import { withoutControls } from "./header-line.ts";

export type MailAttachment = {
  name: string;
  /** A media type, e.g. `application/pdf`. */
  type: string;
} & AttachedFile;

/** The octets of an attachment, or the lines that `base64Lines` made of them. */
type AttachedFile = { bytes: Buffer } | { lines: Buffer[] };

/** Octets of a line of 76 characters (RFC 2045, 6.8). */
const LINE_OCTETS = 57;
/** 64 KB of lines at a time. */
const PIECE_OCTETS = 840 * LINE_OCTETS;

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

/** Writes octets as lines of base64 while they are read: of a large file nothing but its lines is held. */
export async function base64Lines(
  octets: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let rest = Buffer.alloc(0);
  for await (const chunk of octets) {
    rest = Buffer.concat([rest, chunk]);
    let at = 0;
    for (; at + PIECE_OCTETS <= rest.length; at += PIECE_OCTETS)
      pieces.push(linesOf(rest.subarray(at, at + PIECE_OCTETS)));
    rest = rest.subarray(at);
  }
  return rest.length > 0 ? [...pieces, linesOf(rest)] : pieces;
}

function linesOf(octets: Buffer): Buffer {
  return Buffer.from(octets.toString("base64").replace(/.{1,76}/g, "$&\r\n"), "latin1");
}

async function writePart({ name, type, ...file }: MailAttachment): Promise<Buffer[]> {
  const contentType = MEDIA_TYPE.test(type) && !COMPOSITE.test(type) ? type : OCTETS;
  // The library writes names that are no ASCII (RFC 2231). Only its root has the headers of a mail.
  const node = new MimeNode("multipart/mixed").createChild(contentType, { filename: attachmentName(name) });
  node.setHeader("Content-Disposition", "attachment").setHeader("Content-Transfer-Encoding", "base64");
  const part = await node.setContent("").build();
  const head = part.subarray(0, part.indexOf(HEAD_END) + HEAD_END.length);
  const lines = "lines" in file ? file.lines : await base64Lines([file.bytes]);
  return [head, ...(lines.length > 0 ? lines : [CRLF])];
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
