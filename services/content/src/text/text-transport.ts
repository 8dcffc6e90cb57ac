import type { HandOver } from "@tidings/mail/mail-transport";

/** Hands text messages over to a provider. */
export interface TextTransport {
  /** As its URL says, without what is secret: `form+https://api.example`. */
  readonly name: string;
  /** Hands one message over. Never rejects: what became of it is the answer. `mayBegin` is asked right before its first octet leaves. */
  handOver(message: TextMessage, mayBegin: () => boolean): Promise<HandOver>;
  close(): Promise<void>;
}

export interface TextMessage {
  /** The number in E.164 form: `+4915112345678`. */
  address: string;
  content: string;
}
