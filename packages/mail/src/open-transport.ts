import { fileURLToPath } from "node:url";
import { fileTransport } from "./file-transport.ts";
import type { MailTransport } from "./mail-transport.ts";
import { readServerUrl } from "./server-url.ts";
import type { SmtpServer } from "./smtp-conversation.ts";
import { smtpTransport } from "./smtp-transport.ts";

/** A URL that says how mails leave. */
export type TransportUrl = { kind: "file"; folder: string } | { kind: "smtp"; server: SmtpServer };

const SCHEMES = {
  "smtp:": { port: 587, isImplicit: false },
  "smtps:": { port: 465, isImplicit: true },
} as const;

/** A comma or blanks, where the scheme of another URL follows: a folder or a password may have commas and blanks in it. */
const BETWEEN_URLS = /[\s,]+(?=(?:smtps?|file):)/i;

/** Reads a list of URLs, the preferred one first, with blanks or commas between them. */
export function readTransportUrls(text: string): TransportUrl[] | { problem: string } {
  const texts = text.trim().split(BETWEEN_URLS);
  const urls: TransportUrl[] = [];
  for (const [index, one] of texts.entries()) {
    const url = readTransportUrl(one);
    if ("problem" in url) return texts.length > 1 ? { problem: `at place ${index + 1} ${url.problem}` } : url;
    urls.push(url);
  }
  return urls;
}

/**
 * Reads `smtp://user:password@host:587` (STARTTLS is required unless `?tls=off`), `smtps://host` or `file:FOLDER`. A text that says why it
 * is none of them names nothing of the URL: a password may stand in it.
 */
export function readTransportUrl(text: string): TransportUrl | { problem: string } {
  // A relative folder is none of a URL's paths.
  if (text.startsWith("file:") && !text.startsWith("file:/"))
    return text.length > 5 ? { kind: "file", folder: text.slice(5) } : { problem: "names no folder" };
  if (!URL.canParse(text)) return { problem: "is no URL" };
  const url = new URL(text);
  if (url.protocol === "file:")
    return url.host ? { problem: "names another machine" } : { kind: "file", folder: fileURLToPath(url) };
  const { protocol } = url;
  if (protocol !== "smtp:" && protocol !== "smtps:") return { problem: "is none of smtp:, smtps: and file:" };
  if (!["", "/"].includes(url.pathname)) return { problem: "names something behind its host" };
  const server = readServerUrl(url, SCHEMES[protocol]);
  return "problem" in server ? server : { kind: "smtp", server };
}

interface TransportOptions {
  /** The name that this side greets mail servers with. */
  greetingName?: string | undefined;
}

export function openTransport(url: TransportUrl, { greetingName }: TransportOptions = {}): MailTransport {
  return url.kind === "file" ? fileTransport(url.folder) : smtpTransport({ ...url.server, greetingName });
}
