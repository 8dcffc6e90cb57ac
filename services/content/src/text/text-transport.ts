import type { HandOver } from "@tidings/mail/mail-transport";

/** Hands messages of a channel over to a provider. */
export interface TextTransport {
  /** As its URL says, without what is secret: `form+https://api.example`. */
  readonly name: string;
  /**
   * Hands one message over. Never rejects: what became of it is the answer, with the provider's own where it took the message. `mayBegin` is asked right
   * before its first octet leaves.
   */
  handOver(message: TextMessage, mayBegin: () => boolean): Promise<HandOver>;
  close(): Promise<void>;
}

export interface TextMessage {
  /** The recipient, as the ledger keeps it: a number in E.164 form, a handle, ids of browsers and apps with commas. */
  address: string;
  /** The same one by one: templates name them by `{to}`. */
  to: string[];
  /** The other values that templates may name: `text`. */
  values: Record<string, string>;
}
