/**
 * Reports of a provider. `taken`: it has the message; `hard`: there is no such number; `soft`: it could not be delivered for now; `blocked`: it was
 * refused for the sender's or the content's sake.
 */
export const REPORT_KINDS = ["taken", "delivered", "hard", "soft", "blocked", "unsubscribe"] as const;

export type ReportKind = (typeof REPORT_KINDS)[number];

interface OfProvider {
  /** By which the provider names the event; empty where it has no name. */
  id: string;
  /** In milliseconds since 1970. */
  at: number;
  text: string;
}

/** News of a text message that we sent. */
export interface TextReport extends OfProvider {
  kind: ReportKind;
  /** The name of the send, where the event has it. */
  hash: string | undefined;
  /** The number that it was sent to; empty where the provider does not say. */
  address: string;
  /** The provider's own code of an error. */
  code: number | undefined;
}

/** Somebody wrote to us; `text` is the message. */
export interface TextReply extends OfProvider {
  kind: "reply";
  /** The number of the sender. */
  address: string;
  /** The provider took the message for this word of consent, in any language. */
  asked: "stop" | "start" | undefined;
}

export type TextEvent = TextReport | TextReply;
