import type { Database } from "@tidings/database/database";
import { compileTemplate, type Template } from "@tidings/rendering/compile-template";
import { clickLinks } from "../send/click-links.ts";
import { SendRefused } from "../send/compose-send.ts";
import { madeOnce } from "../send/made-once.ts";
import type { UnsentOptions } from "../send/render-unsent.ts";
import { linksInText, withTrackedTextLinks } from "../send/text-links.ts";
import { keyOf, tokenAddresses } from "../send/token-addresses.ts";
import { linkTracker } from "../send/track-links.ts";
import type { TextChannel } from "./text-channel.ts";

/** The text of a message as its contact gets it. Throws SendRefused for an empty one, and TemplateError for one that is too long. */
export type RenderText = (written: WrittenText, contactId: number) => Promise<string>;

export interface WrittenText {
  /** The entity that the text stands in. */
  itemId: number;
  text: string;
  language: string;
}

export interface TextRendering extends Pick<UnsentOptions, "contacts" | "addressOfPage" | "addressOfAsset"> {
  database: Database;
  publicUrl: string;
  tokenKeys: string[];
}

/** How texts of a channel are written. */
export interface TextStyle {
  channel: TextChannel["name"];
  /** Why a text with nothing in it is not sent. */
  empty: string;
  /** Everybody may read it: its links do not say who follows them. */
  isPublic?: true;
  /** A token of the channel, which stands for the value of a field of the contact. */
  token?: { name: string; field: string; write(value: string): string };
}

const NAMES = ["pagelink", "assetlink", "trackedlink"];
/** Ten parts of a long message: providers take no longer ones. */
const LENGTH_MAX = 1_600;
const COMPILED_MAX = 200;

export function textRenderer(
  options: TextRendering,
  { channel, empty, isPublic, token: own }: TextStyle,
): RenderText {
  const { database, contacts } = options;
  const linksOf = clickLinks(options.tokenKeys, options.publicUrl);
  const once = madeOnce<Template>(COMPILED_MAX);
  const names = new Set(own ? [...NAMES, own.name] : NAMES);
  const compile = async ({ itemId, text }: WrittenText): Promise<Template> => {
    const track = linkTracker(database, { channel, channelId: itemId });
    return compileTemplate(withTrackedTextLinks(text, await track(linksInText(text))), "text", names);
  };
  return async (written, contactId) => {
    const { itemId, language } = written;
    const template = await once(`${itemId} ${written.text}`, () => compile(written));
    const { contactFields, tokens } = template;
    const asked = ["timezone", "preferred_locale", ...(own ? [own.field] : []), ...contactFields];
    const fields = await contacts.fieldsOf(contactId, [...new Set(asked)]);
    const links = linksOf({ contactId: isPublic ? undefined : contactId, channel, channelId: itemId });
    const found = await tokenAddresses(tokens, links.page, options);
    const text = template.render({
      contactFields: fields,
      valueOf(token) {
        if (token.name === "trackedlink") return links.tracked(token.argument ?? "");
        if (token.name === own?.name) return own.write(fields.get(own.field) ?? "");
        return found.get(keyOf(token));
      },
      dates: {
        now: database.now(),
        timeZone: fields.get("timezone") || "UTC",
        locale: fields.get("preferred_locale") || language,
      },
      lengthMax: LENGTH_MAX,
    });
    if (text.trim() === "") throw new SendRefused(empty);
    return text;
  };
}
