import type { Row } from "@tidings/database/statement";
import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { Contactable } from "../send/contactable.ts";
import { countedTextTransport } from "./counted-transport.ts";
import { openTextTransport } from "./open-transport.ts";
import type { TextKind } from "./text-kind.ts";
import type { TextSend } from "./text-queue.ts";
import type { TextMessage, TextTransport } from "./text-transport.ts";
import type { TransportUrl } from "./transport-url.ts";

/** A channel with all that writes and sends its messages. */
export interface TextSending {
  kind: TextKind;
  /** Writes the message of an entity for a contact, as the ledger keeps it. Throws SendRefused and TemplateError where there is nothing to send. */
  render(item: Row, contactId: number): Promise<string>;
  /** Asks whether a contact may be written to now. Throws while that cannot be found out. */
  ask(contactId: number, isMobile: boolean): Promise<Contactable>;
  /** The way for messages to leave; undefined where none is set up. */
  way: TextWay | undefined;
}

export interface TextWay {
  transport: TextTransport;
  /** Addresses a message to its contact as that is now. Throws SendRefused where there is no address. */
  write(send: TextSend): Promise<TextMessage>;
}

/** The way by the transport of a URL; undefined without one. */
export function textWay(
  { config, log }: Foundation<ContentConfig>,
  { channel: { name, plural } }: TextKind,
  { url, write }: { url: TransportUrl | undefined; write: TextWay["write"] },
): TextWay | undefined {
  if (!url) return undefined;
  const transport = openTextTransport(url, { log, allowed: config.OUTBOUND_ALLOW_CIDRS, plural });
  return { transport: countedTextTransport(transport, name), write };
}
