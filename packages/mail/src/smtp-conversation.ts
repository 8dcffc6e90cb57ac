import { Readable } from "node:stream";
import SMTPConnection, { type SMTPConnectionOptions } from "nodemailer/lib/smtp-connection";
import { passUnchanged } from "./mail-data.ts";
import type { HandOver, RefusedPart, WrittenMail } from "./mail-transport.ts";
import type { MailServer } from "./server-url.ts";

export interface SmtpServer extends MailServer {
  /** Certificates (PEM) that are trusted beside those of the system. */
  ca?: string | undefined;
  /** The name that this side greets with. */
  greetingName?: string | undefined;
}

/** An open connection to a server, over which mails go one after the other. */
export interface SmtpConversation {
  readonly isOpen: boolean;
  handOver(mail: WrittenMail): Promise<HandOver>;
  close(): void;
}

const CONNECT_MS = 20_000;
/** From the envelope to the answer. RFC 5321, 4.5.3.2 gives ten minutes to the answer alone. */
const HAND_OVER_MS = 600_000;
/** A mail has an outcome after so long, whatever the server does. */
export const CONVERSATION_MS = CONNECT_MS + HAND_OVER_MS;

/** A refusal or a failure before any mail went over the connection. */
export class ConnectionRefused extends Error {
  override name = "ConnectionRefused";
  readonly handOver: HandOver;

  constructor(handOver: HandOver) {
    super("the mail server took no connection");
    this.handOver = handOver;
  }
}

/** A failure as nodemailer describes it. */
interface SmtpError extends Error {
  code?: string;
  command?: string;
  response?: string;
  responseCode?: number;
  recipient?: string;
}

/** Opens a connection and signs in. Rejects with ConnectionRefused. */
export async function openConversation(server: SmtpServer): Promise<SmtpConversation> {
  const connection = new SMTPConnection(connectionOptions(server));
  passUnchanged(connection);
  let isOpen = true;
  /** Hears of the end of the connection while a mail is on its way. */
  let onEnd: ((error?: SmtpError) => void) | undefined;
  const ended = (error?: SmtpError) => {
    isOpen = false;
    onEnd?.(error);
  };
  connection.on("error", ended);
  connection.on("end", () => ended());
  const close = () => {
    isOpen = false;
    connection.close();
  };
  try {
    await settling(CONNECT_MS, (done, fail) => {
      onEnd = fail;
      connection.connect(() =>
        signIn(connection, server, (error) => (error ? fail(error) : done(undefined))),
      );
    });
  } catch (error) {
    close();
    throw new ConnectionRefused(away(error as SmtpError));
  }
  onEnd = undefined;

  return {
    get isOpen() {
      return isOpen;
    },
    async handOver(mail) {
      if (!isAscii(mail.envelope.to) && !offers(connection, "SMTPUTF8")) return WITHOUT_UTF8;
      const message = messageOf(mail);
      try {
        const text = await settling<string>(HAND_OVER_MS, (done, fail) => {
          onEnd = fail;
          connection.send(message.envelope, message.stream, (error, info) => {
            if (error) fail(error);
            else done(info?.response ?? "");
          });
        });
        return { state: "taken", code: codeIn(text) ?? 250, text: withoutCode(text) };
      } catch (error) {
        // Only a server that answered is ready for the next mail.
        const outcome = outcomeOf(error as SmtpError, message, mail.envelope.to);
        if (message.isHeldBack || outcome.state !== "refused" || !(await isReset(connection))) close();
        return outcome;
      } finally {
        onEnd = undefined;
      }
    },
    close,
  };
}

function signIn(
  connection: SMTPConnection,
  { user, password }: SmtpServer,
  done: (error?: Error | null) => void,
): void {
  if (user) connection.login({ user, credentials: { user, pass: password } }, done);
  else done();
}

/** RFC 6531, 3.5: the domain of an address is in A-labels, so it is the part before the `@` that needs the extension. */
const WITHOUT_UTF8: HandOver = {
  ...{ state: "refused", by: "recipient", code: 550, isForGood: true },
  text: "5.6.7 The mail server does not offer SMTPUTF8, which the address needs.",
};

function isAscii(text: string): boolean {
  return /^\p{ASCII}*$/u.test(text);
}

/** nodemailer does not publish what the server offers, and gives such an address to any server. */
function offers(connection: SMTPConnection, extension: string): boolean {
  const { _supportedExtensions: offered } = connection as unknown as { _supportedExtensions: string[] };
  return offered.includes(extension);
}

function connectionOptions({ host, port, tls, ca, greetingName }: SmtpServer): SMTPConnectionOptions {
  return {
    host,
    port,
    secure: tls === "implicit",
    requireTLS: tls === "required",
    ignoreTLS: tls === "off",
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: HAND_OVER_MS,
    ...(ca && { tls: { ca } }),
    ...(greetingName && { name: greetingName }),
  };
}

/** The octets of a mail, and how far they went. */
interface Message {
  stream: Readable;
  envelope: SentEnvelope;
  /** `mayBegin` said no, or the recipient was refused while a blind copy was not. */
  readonly isHeldBack: boolean;
  /** The last octet was given to the connection: from here on the server may have the mail. */
  readonly isGiven: boolean;
}

/** nodemailer writes the answers of the server into it. */
interface SentEnvelope {
  from: string;
  to: string[];
  size: number;
  use8BitMime: boolean;
  rejectedErrors?: SmtpError[];
}

function messageOf({ envelope: { from, to, bcc }, pieces, mayBegin }: WrittenMail): Message {
  const recipients = [to, ...bcc.filter((address) => address !== to)];
  const size = pieces.reduce((sum, { length }) => sum + length, 0);
  const envelope: SentEnvelope = { from, to: recipients, size, use8BitMime: true };
  let left = size;
  let isHeldBack = false;
  let isGiven = false;
  const chunks = chunksOf(pieces);
  const stream = new Readable({
    // The connection begins to read once the server waits for the mail.
    read() {
      if (left === size) isHeldBack = refusalOf(envelope, to) !== undefined || !mayBegin();
      if (isHeldBack) return void this.destroy(new Error("the mail may not begin"));
      const { value: chunk } = chunks.next();
      left -= chunk?.length ?? 0;
      this.push(chunk ?? null);
      isGiven = left === 0;
      if (chunk && isGiven) this.push(null);
    },
  });
  return {
    stream,
    envelope,
    get isHeldBack() {
      return isHeldBack;
    },
    get isGiven() {
      return isGiven;
    },
  };
}

const CHUNK_BYTES = 64 * 1024;

/** A large attachment goes through the connection a little at a time. */
function* chunksOf(pieces: Buffer[]): Generator<Buffer, undefined> {
  for (const piece of pieces)
    for (let at = 0; at < piece.length; at += CHUNK_BYTES) yield piece.subarray(at, at + CHUNK_BYTES);
}

function refusalOf({ rejectedErrors }: SentEnvelope, recipient: string): SmtpError | undefined {
  return rejectedErrors?.find((error) => error.recipient === recipient);
}

const PARTS: Record<string, RefusedPart> = {
  "MAIL FROM": "sender",
  "RCPT TO": "recipient",
  DATA: "message",
};
/** The server named a limit that the mail exceeds (RFC 1870, 6.2), so it was not asked. */
const TOO_LARGE = 552;
/** From here on codes are permanent negative completion replies (RFC 5321, 4.2.1). */
const PERMANENT = 500;

function outcomeOf(error: SmtpError, { envelope, isHeldBack, isGiven }: Message, to: string): HandOver {
  const refusal = refusalOf(envelope, to) ?? error;
  if (isHeldBack && refusal === error) return { state: "not begun" };
  const by = PARTS[refusal.command ?? ""];
  const code = refusal.responseCode ?? (refusal.code === "EMESSAGE" && !isGiven ? TOO_LARGE : undefined);
  const isRefusal = refusal.code === "EENVELOPE" || refusal.code === "EMESSAGE";
  // 421 refuses everybody (RFC 5321, 4.2.2). As the answer to a recipient or a mail it is how servers slow down mails to one domain.
  const isAboutMail = code !== 421 || by === "recipient" || isGiven;
  if (isRefusal && by && code !== undefined && code >= 400 && isAboutMail)
    return {
      ...{ state: "refused", by: code === TOO_LARGE ? "message" : by, code, text: textOf(refusal) },
      isForGood: code >= PERMANENT,
    };
  return isGiven ? { state: "unknown", text: textOf(error) } : away(error);
}

function away(error: SmtpError): HandOver {
  const code = error.responseCode ?? codeIn(error.response ?? "");
  return {
    state: "away",
    isRefusedSignIn: error.code === "EAUTH" && code !== undefined,
    code,
    text: textOf(error),
  };
}

/** The words of the server, or else of the failure. */
function textOf({ response, message }: SmtpError): string {
  return withoutCode(response ?? "") || message;
}

function codeIn(response: string): number | undefined {
  const code = /^(\d{3})/.exec(response)?.[1];
  return code === undefined ? undefined : Number(code);
}

function withoutCode(response: string): string {
  return response.replace(/^\d{3}[ -]?/, "").trim();
}

/** Takes back the envelope of a mail that was refused (RFC 5321, 4.1.1.5). */
function isReset(connection: SMTPConnection): Promise<boolean> {
  return settling<boolean>(CONNECT_MS, (done) => connection.reset((error) => done(!error))).catch(
    () => false,
  );
}

/** A promise that is settled after `limitMs` at the latest: a connection that is closed forgets its callbacks. */
function settling<T>(
  limitMs: number,
  begin: (done: (value: T) => void, fail: (error?: Error | null) => void) => void,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const limit = setTimeout(() => reject(new Error("The mail server did not answer in time.")), limitMs);
    const settled =
      <A>(settle: (value: A) => void) =>
      (value: A) => {
        clearTimeout(limit);
        settle(value);
      };
    begin(
      settled(resolve),
      settled((error) => reject(error ?? new Error("The mail server closed the connection."))),
    );
  });
}
