import type { Foundation } from "@tidings/service/start-service";
import type { ContentConfig } from "../config.ts";
import type { MailParts } from "../send/mail-parts.ts";
import { countedTextTransport } from "./counted-transport.ts";
import { openTextTransport } from "./open-transport.ts";
import { type RenderText, textRenderer } from "./render-text.ts";
import type { TextTransport } from "./text-transport.ts";

/** All that writes and sends text messages share. */
export interface TextParts {
  render: RenderText;
  /** The way for text messages to leave; undefined where none is set up. */
  way: { transport: TextTransport; country: string } | undefined;
}

export function textParts(
  { config, database, log }: Foundation<ContentConfig>,
  { rendering }: MailParts,
): TextParts {
  const { SMS_URL: url, PUBLIC_URL: publicUrl, PUBLIC_TOKEN_KEYS: tokenKeys } = config;
  return {
    render: textRenderer({ ...rendering, database, publicUrl, tokenKeys }),
    way: url && {
      transport: countedTextTransport(openTextTransport(url, log, config.OUTBOUND_ALLOW_CIDRS)),
      country: url.country,
    },
  };
}
