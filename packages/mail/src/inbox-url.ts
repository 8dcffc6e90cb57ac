import { decoded, type MailServer, readServerUrl } from "./server-url.ts";

/** A folder of mails at a server. */
export interface Inbox {
  server: MailServer;
  /** The folder, as the server names it. */
  folder: string;
}

const SCHEMES = {
  "imap:": { port: 143, isImplicit: false },
  "imaps:": { port: 993, isImplicit: true },
} as const;

/**
 * Reads `imaps://user:password@host:993/FOLDER` or `imap://…` (STARTTLS is required unless `?tls=off`). The folder is INBOX where none is
 * named. The problem with a URL names nothing of it: a password may stand in it.
 */
export function readInboxUrl(text: string): Inbox | { problem: string } {
  if (!URL.canParse(text)) return { problem: "is no URL" };
  const url = new URL(text);
  const { protocol } = url;
  if (protocol !== "imap:" && protocol !== "imaps:") return { problem: "is neither imaps: nor imap:" };
  const server = readServerUrl(url, SCHEMES[protocol]);
  if ("problem" in server) return server;
  if (!server.user) return { problem: "names no user" };
  const folder = decoded(url.pathname.slice(1)) ?? "";
  if (/\p{Cc}/u.test(folder) || (folder === "" && url.pathname.length > 1))
    return { problem: "has a folder that is not percent-encoded" };
  return { server, folder: folder || "INBOX" };
}
