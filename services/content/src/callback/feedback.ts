/** The outcome of a mail, as a provider reports it: `blocked` is a refusal for the sender's or the content's sake. */
export const FEEDBACK_KINDS = ["hard", "soft", "blocked", "complaint", "unsubscribe", "delivered"] as const;

export type FeedbackKind = (typeof FEEDBACK_KINDS)[number];

/** One event of a provider about one mail. */
export interface Feedback {
  kind: FeedbackKind;
  /** By which the provider names the event; empty where it has no name. */
  id: string;
  /** The name of the send, where the event has it; undefined where only the address is known. */
  hash: string | undefined;
  /** Empty where the provider keeps it to itself. */
  address: string;
  /** In milliseconds since 1970. */
  at: number;
  /** The code of the recipient's mail server. */
  code: number | undefined;
  text: string;
}

/** The reading of one item: undefined where it is malformed; empty where it says nothing that changes a send. */
export type ReadItem = (item: unknown) => Feedback[] | undefined;
