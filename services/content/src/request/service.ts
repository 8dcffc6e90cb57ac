import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import type { TextParts } from "../text/text-parts.ts";
import { sendRequests } from "./send-requests.ts";

/** The methods by which other services ask for sends. */
export function openSendRequests(
  { database, outbox }: Foundation<ContentConfig>,
  { mail, text }: { mail: MailParts; text: TextParts },
): ReturnType<typeof sendRequests> {
  const { rendering, askContactable, wake, way } = mail;
  return sendRequests({
    ...{ database, outbox, rendering, contacts: rendering.contacts, askContactable, wake },
    hasTransport: way !== undefined,
    texts: { render: text.render, hasTransport: text.way !== undefined },
  });
}
