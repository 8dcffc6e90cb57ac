import type { Database } from "@tidings/database/database";
import type { Begin } from "@tidings/jobs/work";
import type { MailAttachment } from "@tidings/mail/attachment";
import { composeMail, type Mailbox, MailInvalid } from "@tidings/mail/compose-mail";
import { wireAddress } from "@tidings/mail/mail-address";
import { type HandOver, isForGood, type MailTransport } from "@tidings/mail/mail-transport";
import { TemplateError } from "@tidings/rendering/template-error";
import { Code, toFault } from "@tidings/rpc/fault";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import type { AskContactable } from "./contactable.ts";
import type { MailLinks } from "./mail-links.ts";
import type { RenderSend } from "./render-send.ts";
import type { Send } from "./send-queue.ts";
import { SendState } from "./send-tables.ts";

/** The outcome of an attempt. */
export interface SendOutcome {
  state: "waiting" | "sent" | "failed" | "suppressed" | "unknown";
  /** Until the next attempt, of one that waits. */
  delaySeconds: number;
  /** The code of the mail server. */
  code?: number | undefined;
  /** Why it failed, was suppressed, or waits. */
  reason?: string | undefined;
  /** The address that the mail was for. */
  address?: string | undefined;
  /** Another attempt of the same kind is counted. */
  isAttempt: boolean;
  /** There is no such mailbox: no other mail to the address would arrive. */
  isBadAddress?: boolean;
  /** The server is away, or refuses everybody: others wait, too. */
  isEverybody: boolean;
}

export interface SendMailOptions {
  database: Database;
  log: Log;
  transport: MailTransport;
  askContactable: AskContactable;
  render: RenderSend;
  attachmentsOf(assetIds: number[]): Promise<MailAttachment[]>;
  links: MailLinks;
  /** The sender of emails that name none. */
  from: Mailbox;
}

/** Seconds after each refusal for now (4yz), until the next attempt. */
const RETRY_SECONDS = [60, 300, 1_800, 7_200, 28_800, 86_400];
const AWAY_SECONDS = 15;
const UNANSWERED_SECONDS = 2;
const UNANSWERED = "The contact service does not answer.";
const UNWRITTEN = "The mail could not be written.";
const REFUSED_SENDER_SECONDS = 300;
/** Until a contact is asked about again who has had enough messages for now, or made a pause. */
const DEFERRED_SECONDS = 3_600;
/** Bad destination mailbox, system or syntax, and a null MX (RFC 3463, 3.2; RFC 7505, 4). */
const BAD_ADDRESS = /^5\.1\.(?:1|2|3|10)\b/;
/** They hold back what nobody has to have at once. */
const LIMITS = new Set(["paused", "frequency"]);

/** Sends one mail: writes, asks, commits the start, and hands over. Undefined where somebody else has the send, or the contact said no meanwhile. */
export function mailSender(
  options: SendMailOptions,
): (send: Send, begin: Begin) => Promise<SendOutcome | undefined> {
  const { transport, askContactable, log } = options;
  return async (send, begin) => {
    const decided = (error: unknown) => decidedBy(error, send, log);
    const written = await write(options, send).catch(decided);
    if ("state" in written) return written;
    const contactable = await askContactable("email", send.contactId).catch(decided);
    if ("state" in contactable) return contactable;
    const no = noOf(contactable.refusal, send);
    if (no) return { ...no, address: written.address };
    if (!(await begin())) return undefined;
    const { messageId, envelope, octets } = written;
    const outcome = await transport.handOver({ messageId, envelope, octets, mayBegin: contactable.isFresh });
    return { ...outcomeOf(outcome, send), address: written.address };
  };
}

interface Written {
  messageId: string;
  address: string;
  envelope: { from: string; to: string; bcc: string[] };
  octets: Buffer;
}

async function write(
  { database, from, links, render, attachmentsOf }: SendMailOptions,
  send: Send,
): Promise<Written> {
  const { mail, revision, address: present } = await render(send);
  const address = send.address ?? present;
  const to = wireAddress(address);
  if (address === "") throw new SendRefused("The contact has no email address.");
  if (to === undefined) throw new SendRefused("The email address is malformed.", true);
  const messageId = `${send.hash}@${from.address.slice(from.address.lastIndexOf("@") + 1)}`;
  const octets = await composeMail({
    messageId,
    date: new Date(database.now()),
    from: mail.fromAddress
      ? { address: mail.fromAddress, name: mail.fromName }
      : { ...from, name: mail.fromName || from.name },
    ...(revision.replyToAddress && { replyTo: { name: "", address: revision.replyToAddress } }),
    to: { name: "", address },
    subject: mail.subject,
    html: mail.html,
    text: mail.text,
    headers: headersOf(mail.headers, ownHeaders(send, links)),
    attachments: await attachmentsOf(send.attachments ?? revision.assetAttachments),
  });
  const bcc = (revision.bccAddress ?? "").split(",").flatMap((text) => wireAddress(text) ?? []);
  return {
    messageId,
    address,
    envelope: { from: wireAddress(from.address) ?? from.address, to, bcc },
    octets,
  };
}

/** A field of ours stands once, whatever the author of the email wrote. */
function headersOf(written: [string, string][], own: [string, string][]): [string, string][] {
  const names = new Set(own.map(([name]) => name.toLowerCase()));
  return [...written.filter(([name]) => !names.has(name.toLowerCase())), ...own];
}

/** engines.md 6.11, and RFC 2369, 8058 and 2919 for mails to many. */
function ownHeaders(send: Send, links: MailLinks): [string, string][] {
  const { emailId, isBulk } = send;
  const headers: [string, string][] = [["X-EMAIL-ID", String(emailId)]];
  if (!isBulk) return headers;
  const host = new URL(links.webView(send)).hostname;
  return [
    ...headers,
    ["Precedence", "Bulk"],
    ["List-ID", `<email-${emailId}.${host}>`],
    ["List-Unsubscribe", `<${links.unsubscribe(send)}>`],
    ["List-Unsubscribe-Post", "List-Unsubscribe=One-Click"],
    ["Feedback-ID", `${emailId}:email:${host}`],
  ];
}

/** No attempt with the same email and contact would succeed. */
class SendRefused extends Error {
  override name = "SendRefused";
  readonly isBadAddress: boolean;

  constructor(reason: string, isBadAddress = false) {
    super(reason);
    this.isBadAddress = isBadAddress;
  }
}

/** An email or an address that no mail can be made of fails. While the contact service is away nothing goes out unasked. */
function decidedBy(error: unknown, { id, attempts }: Send, log: Log): SendOutcome {
  const waiting = { ...DECIDED, state: SendState.WAITING };
  if (isOutage(error) || toFault(error).code === Code.DEADLINE_EXCEEDED)
    return {
      ...{ ...waiting, delaySeconds: UNANSWERED_SECONDS, reason: UNANSWERED },
      ...{ isAttempt: false, isEverybody: true },
    };
  if (error instanceof SendRefused || error instanceof MailInvalid || error instanceof TemplateError)
    return {
      ...{ ...DECIDED, state: SendState.FAILED, reason: error.message },
      isBadAddress: error instanceof SendRefused && error.isBadAddress,
    };
  // A fault of ours: it may pass, and stops nobody else.
  log.error({ err: error, send: id }, "a mail could not be written");
  const delaySeconds = RETRY_SECONDS[attempts];
  return delaySeconds === undefined
    ? { ...DECIDED, state: SendState.FAILED, reason: UNWRITTEN }
    : { ...waiting, delaySeconds, reason: UNWRITTEN };
}

const DECIDED = { delaySeconds: 0, isAttempt: true, isEverybody: false };

/** The outcome for a contact who may not be written to now; undefined where they may. */
function noOf(refusal: string, { isBulk }: Send): SendOutcome | undefined {
  if (refusal === "") return undefined;
  if (!LIMITS.has(refusal)) return { ...DECIDED, state: SendState.SUPPRESSED, reason: refusal };
  // A mail that somebody asked for is not counted against a limit of those that were not.
  return isBulk
    ? {
        ...DECIDED,
        state: SendState.WAITING,
        delaySeconds: DEFERRED_SECONDS,
        reason: refusal,
        isAttempt: false,
      }
    : undefined;
}

function outcomeOf(handOver: HandOver, { attempts }: Send): SendOutcome {
  switch (handOver.state) {
    case "taken":
      return { ...DECIDED, state: SendState.SENT, code: handOver.code };
    case "unknown":
      return { ...DECIDED, state: SendState.UNKNOWN, reason: handOver.text };
    case "not begun":
      return { ...DECIDED, state: SendState.WAITING, isAttempt: false };
    case "away": {
      const { code, text } = handOver;
      return {
        ...DECIDED,
        state: SendState.WAITING,
        delaySeconds: AWAY_SECONDS,
        code,
        reason: text,
        isAttempt: false,
        isEverybody: true,
      };
    }
    case "refused": {
      const { by, code, text } = handOver;
      const failure = { ...DECIDED, code, reason: text };
      // All mails have this sender.
      if (by === "sender")
        return {
          ...failure,
          state: SendState.WAITING,
          delaySeconds: REFUSED_SENDER_SECONDS,
          isAttempt: false,
          isEverybody: true,
        };
      const delaySeconds = isForGood(code) ? undefined : RETRY_SECONDS[attempts];
      return delaySeconds === undefined
        ? { ...failure, state: SendState.FAILED, isBadAddress: BAD_ADDRESS.test(text) && isForGood(code) }
        : { ...failure, state: SendState.WAITING, delaySeconds };
    }
  }
}
