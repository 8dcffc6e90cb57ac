/** Hands mails over to the next server. */
export interface MailTransport {
  /** As its URL says, without what is secret: `smtp://mail.example:587`. */
  readonly name: string;
  /** Hands one mail over. Never rejects: what became of the mail is the answer. */
  handOver(mail: WrittenMail): Promise<HandOver>;
  close(): void;
}

export interface WrittenMail {
  /** The same over all attempts. */
  messageId: string;
  envelope: Envelope;
  /** One after the other they are the mail, as `composeMail` writes it. */
  pieces: Buffer[];
  /** Asked right before the first octet leaves. Where it says no, the mail is not sent. */
  mayBegin(): boolean;
}

/** Addresses as `wireAddress` writes them (RFC 5321, 2.3.1). */
export interface Envelope {
  from: string;
  /** The mail is for this one: where it is refused, nobody gets the mail. */
  to: string;
  /** They get it too, where they are not refused. */
  bcc: string[];
}

/** The outcome of a mail. Only after `taken` and `unknown` may somebody have it. */
export type HandOver =
  | { state: "taken"; code: number; text: string }
  /** The server said no to this mail: for good, or for now. */
  | { state: "refused"; by: RefusedPart; code: number; text: string; isForGood: boolean }
  /** The server could not be reached, or took nobody's mail; the code where it said one. */
  | { state: "away"; isRefusedSignIn: boolean; code: number | undefined; text: string }
  /** `mayBegin` said no. */
  | { state: "not begun" }
  /** The line broke after the last octet was given to it, and before the answer. */
  | { state: "unknown"; text: string };

export type RefusedPart = "sender" | "recipient" | "message";
