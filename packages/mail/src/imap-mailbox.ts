import { ImapFlow } from "imapflow";
import type { Inbox } from "./inbox-url.ts";

/** A mail of an inbox. */
export interface InboxMail {
  /** The number of the mail in its folder (RFC 3501, 2.3.1.1). */
  uid: number;
  /** The time when the inbox got it, in milliseconds since 1970. */
  receivedAt: number;
  /** The first octets of a long mail, all of a shorter one. */
  octets: Buffer;
}

/** Marks of mails that were handled. */
export interface Marks {
  uid: number;
  /** People that read the inbox have nothing to do with it. */
  isSeen: boolean;
  /** Somebody should look at it. */
  isFlagged: boolean;
}

/** An open folder of mails. */
export interface Mailbox {
  /** The oldest mails that were not handled yet. */
  next(limit: number): Promise<InboxMail[]>;
  /** Marks mails as handled: `next` does not return them any more, in any process. */
  mark(marks: Marks[]): Promise<void>;
  close(): Promise<void>;
}

interface MailboxOptions {
  /** Octets of a mail that are read. */
  bytesMax: number;
  /** Certificates (PEM) that are trusted beside those of the system. */
  ca?: string | undefined;
}

/** The server could not be reached, refused the sign-in, or has no such folder. Its message names neither user nor password. */
export class InboxAway extends Error {
  override name = "InboxAway";
  readonly reason: "unreachable" | "sign-in" | "folder";

  constructor(reason: InboxAway["reason"], cause: unknown) {
    super(`the inbox cannot be read: ${reason}`, { cause });
    this.reason = reason;
  }
}

/** A keyword (RFC 3501, 2.3.2), so that the inbox shows people as unread which mails they have not read. */
const HANDLED = "TidingsHandled";
const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
/** The longest answer of a server: a search lists the number of every mail that waits. */
const RESPONSE_BYTES_MAX = 64 * 1_024 * 1_024;

/**
 * Opens a folder over IMAP (RFC 3501). Mails stay in it: one that was handled gets a keyword, or counts as read where the server keeps no keywords.
 * Rejects with InboxAway.
 */
export async function openMailbox({ server, folder }: Inbox, options: MailboxOptions): Promise<Mailbox> {
  const client = clientOf(server, options);
  const opened = await client
    .connect()
    .catch((error: unknown) => {
      throw new InboxAway(isRefusal(error) ? "sign-in" : "unreachable", error);
    })
    .then(() => client.mailboxOpen(folder))
    .catch((error: unknown) => {
      client.close();
      throw error instanceof InboxAway ? error : new InboxAway("folder", error);
    });
  /** A line that breaks while a command waits. */
  const asked = <T>(command: Promise<T>) =>
    command.catch((error: unknown) => {
      throw new InboxAway("unreachable", error);
    });
  const hasKeywords = opened.permanentFlags?.has("\\*") === true;
  return {
    async next(limit) {
      const found = await client.search(hasKeywords ? { unKeyword: HANDLED } : { seen: false }, {
        uid: true,
      });
      if (!found) throw new InboxAway("folder", new Error("the server refuses the search"));
      const uids = found.sort((a, b) => a - b).slice(0, limit);
      if (uids.length === 0) return [];
      const query = { uid: true, internalDate: true, source: { start: 0, maxLength: options.bytesMax } };
      const mails = await asked(client.fetchAll(uids, query, { uid: true }));
      return mails.map(({ uid, internalDate, source }) => ({
        ...{ uid, receivedAt: timeOf(internalDate) },
        octets: source ?? Buffer.alloc(0),
      }));
    },
    async mark(marks) {
      const flagged = new Map<string, number[]>();
      for (const { uid, isSeen, isFlagged } of marks) {
        const flags = [
          ...(hasKeywords ? [HANDLED] : []),
          ...(isSeen || !hasKeywords ? ["\\Seen"] : []),
          ...(isFlagged ? ["\\Flagged"] : []),
        ].join(" ");
        flagged.set(flags, [...(flagged.get(flags) ?? []), uid]);
      }
      for (const [flags, uids] of flagged)
        if (!(await asked(client.messageFlagsAdd(uids, flags.split(" "), { uid: true }))))
          throw new InboxAway("folder", new Error("the server takes no flags"));
    },
    async close() {
      await client.logout().catch(() => client.close()); // the line broke
    },
  };
}

function clientOf(server: Inbox["server"], options: MailboxOptions): ImapFlow {
  const { host, port, tls, user, password } = server;
  const client = new ImapFlow({
    ...{ host, port, secure: tls === "implicit", auth: { user, pass: password } },
    ...(tls !== "implicit" && { doSTARTTLS: tls === "required" }),
    ...(options.ca && { tls: { ca: options.ca } }),
    ...{ logger: false, disableAutoIdle: true, disableCompression: true },
    ...{ connectionTimeout: CONNECT_MS, greetingTimeout: CONNECT_MS, socketTimeout: SILENCE_MS },
    ...{ maxLineLength: RESPONSE_BYTES_MAX, maxLiteralSize: 2 * options.bytesMax },
    maxResponseSize: RESPONSE_BYTES_MAX,
  });
  // Each command that waits rejects, too.
  client.on("error", () => undefined);
  return client;
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && "authenticationFailed" in error && error.authenticationFailed === true;
}

function timeOf(date: Date | string | undefined): number {
  const ms = new Date(date ?? "").getTime();
  return Number.isFinite(ms) ? ms : Date.now();
}
