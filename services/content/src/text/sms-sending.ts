import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { textRenderer } from "./render-text.ts";
import { SMS_KIND } from "./sms-kind.ts";
import { type TextSending, textWay } from "./text-sending.ts";
import { writeSms } from "./write-sms.ts";

const EMPTY = "The text message is empty.";

/** Text messages, which leave by SMS_URL. */
export function smsSending(
  foundation: Foundation<ContentConfig>,
  { rendering, askContactable }: MailParts,
  reportsOf: ((hash: string) => string) | undefined,
): TextSending {
  const { config, database } = foundation;
  const { SMS_URL: url, PUBLIC_URL: publicUrl, PUBLIC_TOKEN_KEYS: tokenKeys } = config;
  const { contacts } = rendering;
  const render = textRenderer(
    { ...rendering, database, publicUrl, tokenKeys },
    { channel: "sms", empty: EMPTY },
  );
  const country = url?.country ?? "";
  return {
    kind: SMS_KIND,
    render: ({ id, message, language }, contactId) =>
      render({ itemId: Number(id), text: message ?? "", language: language ?? "" }, contactId),
    ask: (contactId) => askContactable("sms", contactId),
    way: textWay(foundation, SMS_KIND, {
      url,
      write: (send) => writeSms({ contacts, country, reportsOf }, send),
    }),
  };
}
