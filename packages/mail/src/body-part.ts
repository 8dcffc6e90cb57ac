import { randomBytes } from "node:crypto";
import { quotedPrintable } from "./quoted-printable.ts";

/** ASCII in lines that every server takes as they are, of which none begins as the first line of a mail in a file does. */
const PLAIN_LINES = /^(?:(?!From )[\t\x20-\x7e]{0,998}(?:\r\n|$))*$/;
const CRLF = Buffer.from("\r\n");

/**
 * The body of a mail with its MIME headers (RFC 2045, 2046), ended by CRLF: multipart/alternative where there are both text and HTML. Lines
 * of both end with CRLF alone. Text that every server takes goes as it is, any other as quoted-printable. The library takes ten times as
 * long (ADR 97).
 */
export function bodyPart(text: string, html: string): Buffer {
  if (!html) return textPart("plain", text);
  if (!text) return textPart("html", html);
  return Buffer.concat(multipart("alternative", [[textPart("plain", text)], [textPart("html", html)]]));
}

/** Parts with their headers, each in pieces and ended by CRLF, as one in pieces (RFC 2046, 5.1). */
export function multipart(subtype: "alternative" | "mixed", parts: Buffer[][]): Buffer[] {
  // Random, and with signs that quoted-printable never has (RFC 2045, 6.7): no part contains it.
  const boundary = `=_${randomBytes(16).toString("hex")}`;
  const between = Buffer.from(`--${boundary}\r\n`);
  return [
    Buffer.from(`Content-Type: multipart/${subtype}; boundary="${boundary}"\r\n\r\n`),
    ...parts.flatMap((part) => [between, ...part]),
    Buffer.from(`--${boundary}--\r\n`),
  ];
}

/** The CRLF at its end belongs to the boundary behind it, where there is one (RFC 2046, 5.1.1). */
function textPart(type: "plain" | "html", text: string): Buffer {
  const isPlain = PLAIN_LINES.test(text);
  const encoding = isPlain ? "7bit" : "quoted-printable";
  const head = `Content-Type: text/${type}; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), isPlain ? Buffer.from(text) : quotedPrintable(text), CRLF]);
}
