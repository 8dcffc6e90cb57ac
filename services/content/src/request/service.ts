import type { Foundation } from "@tidings/service/start-service";
import type { Channels } from "../channels.ts";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { sendRequests } from "./send-requests.ts";

/** The methods by which other services ask for sends. */
export function openSendRequests(
  { database, outbox }: Foundation<ContentConfig>,
  { mail, channels }: { mail: MailParts; channels: Channels },
): ReturnType<typeof sendRequests> {
  const { rendering, askContactable, wake, way } = mail;
  return sendRequests({
    ...{ database, outbox, rendering, contacts: rendering.contacts, askContactable, wake },
    hasTransport: way !== undefined,
    channels,
  });
}
