import type { InboxMail } from "@tidings/mail/imap-mailbox";
import {
  MailUnreadable,
  type OriginalMail,
  type ReturnedMail,
  readReturnedMail,
} from "@tidings/mail/returned-mail";
import { EVENT_DAYS, eventKey } from "../callback/event-keys.ts";
import type { Feedback } from "../callback/feedback.ts";
import { feedbackOf, hashOf, kindOfBounce, wordsOf } from "../callback/read-feedback.ts";
import type { ReturnAddresses } from "../send/return-addresses.ts";
import { SEND_FIELD } from "../send/write-send.ts";

/** The kinds of mails that an inbox gets; `unsigned` are reports that name no send of ours, or have no right signature. */
export const MAIL_KINDS = ["report", "unsubscribe", "reply", "automatic", "unsigned", "other"] as const;

export type MailKind = (typeof MAIL_KINDS)[number];

/** `unreadable`: no mail, or a report without its parts; `stale`: older than events are remembered; `failed`: it could not be recorded. */
export const SET_ASIDE_REASONS = ["unreadable", "stale", "failed"] as const;

export type SetAsideReason = (typeof SET_ASIDE_REASONS)[number];

/** Somebody answered a mail, which may be one of ours. */
export interface Answer {
  hash: string;
  messageId: string;
}

/** The reading of a mail of an inbox. */
export interface ReadMail {
  kind: MailKind;
  feedback: Feedback[];
  answer: Answer | undefined;
}

interface ReadOptions {
  addresses: ReturnAddresses;
  /** In milliseconds since 1970. */
  now: number;
}

const AGE_MAX_MS = (EVENT_DAYS - 1) * 86_400_000;
/** Feedback types (RFC 5965, 7.3) by which a reader does not want our mails. */
const COMPLAINTS = new Set(["abuse", "fraud"]);

/** Reads a mail; a text is the reason why it is set aside. */
export async function readInboxMail(
  { octets, receivedAt }: InboxMail,
  { addresses, now }: ReadOptions,
): Promise<ReadMail | SetAsideReason> {
  if (receivedAt < now - AGE_MAX_MS) return "stale";
  const mail = await readReturnedMail(octets).catch((error: unknown) => {
    if (error instanceof MailUnreadable) return undefined;
    throw error;
  });
  return mail ? readingOf(mail, octets, { addresses, at: Math.min(receivedAt, now) }) : "unreadable";
}

interface Read {
  addresses: ReturnAddresses;
  at: number;
}

function readingOf(mail: ReturnedMail, octets: Buffer, { addresses, at }: Read): ReadMail {
  const hash = signedIn(mail, addresses);
  const id = mail.messageId || eventKey(octets.toString("latin1"));
  switch (mail.kind) {
    case "delivery status":
      if (hash === undefined) return { ...NOTHING, kind: "unsigned" };
      return {
        ...NOTHING,
        kind: "report",
        feedback: mail.statuses.flatMap(({ action, status, diagnostic, address }, index) => {
          const kind = kindOfStatus(action, status, diagnostic);
          const code = /\b[45]\d\d\b/.exec(diagnostic)?.[0];
          const written = {
            id: `${hash} ${id} ${index}`,
            hash,
            address,
            at,
            code,
            text: diagnostic || status,
          };
          return (kind && feedbackOf(kind, written)) ?? [];
        }),
      };
    case "feedback": {
      if (hash === undefined) return { ...NOTHING, kind: "unsigned" };
      const kind = COMPLAINTS.has(mail.type)
        ? "complaint"
        : mail.type === "opt-out"
          ? "unsubscribe"
          : undefined;
      // Providers redact addresses: the signature alone says whose mail it was.
      const written = { id: `${hash} ${id}`, hash, address: "", at };
      return { ...NOTHING, kind: "report", feedback: (kind && feedbackOf(kind, written)) ?? [] };
    }
    case "unsubscribe": {
      if (hash === undefined) return { ...NOTHING, kind: "other" };
      const written = { id: `${hash} ${id}`, hash, address: "", at };
      return { ...NOTHING, kind: "unsubscribe", feedback: feedbackOf("unsubscribe", written) ?? [] };
    }
    case "automatic":
      return { ...NOTHING, kind: "automatic" };
    case "personal": {
      const answered = hashOf(...mail.answered);
      // Whether it is one of ours, the ledger knows.
      return {
        ...NOTHING,
        kind: "other",
        answer: answered ? { hash: answered, messageId: wordsOf(id) } : undefined,
      };
    }
  }
}

const NOTHING = { feedback: [], answer: undefined };

/** The send that a signature in the mail names: in the address that it came to, or in what it returns. */
function signedIn(mail: ReturnedMail, addresses: ReturnAddresses): string | undefined {
  const returned = "original" in mail ? textsOf(mail.original) : [];
  for (const text of [...mail.recipients, ...returned]) {
    const hash = addresses.read(text);
    if (hash) return hash;
  }
  return undefined;
}

function textsOf({ sender, header }: OriginalMail): string[] {
  return [sender, header.get(SEND_FIELD.toLowerCase()) ?? ""];
}

/** A mail that is delayed, or went on to other servers, has no outcome yet. */
function kindOfStatus(action: string, status: string, diagnostic: string): Feedback["kind"] | undefined {
  if (action === "delivered") return "delivered";
  if (action !== "failed") return undefined;
  // The class alone is no reason (RFC 3463, 3.1): the words of the recipient's server may have one.
  return /^\d\.0\.0$/.test(status) ? kindOfBounce(diagnostic, status) : kindOfBounce(status, diagnostic);
}
