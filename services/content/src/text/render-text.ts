import type { Database } from "@tidings/database/database";
import { compileTemplate, type Template } from "@tidings/rendering/compile-template";
import { clickLinks } from "../send/click-links.ts";
import { SendRefused } from "../send/compose-send.ts";
import { madeOnce } from "../send/made-once.ts";
import type { UnsentOptions } from "../send/render-unsent.ts";
import { keyOf, tokenAddresses } from "../send/token-addresses.ts";
import { linkTracker } from "../send/track-links.ts";

/** The text of a message as its contact gets it. Throws SendRefused for an empty one, and TemplateError for one that is too long. */
export type RenderText = (written: WrittenMessage, contactId: number) => Promise<string>;

export interface WrittenMessage {
  smsId: number;
  message: string;
  language: string;
}

export interface RenderTextOptions
  extends Pick<UnsentOptions, "contacts" | "addressOfPage" | "addressOfAsset"> {
  database: Database;
  publicUrl: string;
  tokenKeys: string[];
}

const NAMES = new Set(["pagelink", "assetlink", "trackedlink"]);
/** Ten parts of a long message: providers take no longer ones. */
const LENGTH_MAX = 1_600;
const COMPILED_MAX = 200;
const LINK = /\bhttps?:\/\/\S+/gi;
/** Signs behind a link that end its sentence. */
const AFTER_LINK = /[.,;:!?'")\]>]+$/;

export function textRenderer(options: RenderTextOptions): RenderText {
  const { database, contacts } = options;
  const linksOf = clickLinks(options.tokenKeys, options.publicUrl);
  const once = madeOnce<Template>(COMPILED_MAX);
  const compile = async ({ smsId, message }: WrittenMessage): Promise<Template> => {
    const track = linkTracker(database, { channel: "sms", channelId: smsId });
    return compileTemplate(withTrackedLinks(message, await track(linksIn(message))), "text", NAMES);
  };
  return async (written, contactId) => {
    const { smsId, message, language } = written;
    const template = await once(`${smsId} ${message}`, () => compile(written));
    const { contactFields, tokens } = template;
    const fields = await contacts.fieldsOf(contactId, ["timezone", "preferred_locale", ...contactFields]);
    const links = linksOf({ contactId, channel: "sms", channelId: smsId });
    const found = await tokenAddresses(tokens, links.page, options);
    const text = template.render({
      contactFields: fields,
      valueOf: (token) =>
        token.name === "trackedlink" ? links.tracked(token.argument ?? "") : found.get(keyOf(token)),
      dates: {
        now: database.now(),
        timeZone: fields.get("timezone") || "UTC",
        locale: fields.get("preferred_locale") || language,
      },
      lengthMax: LENGTH_MAX,
    });
    if (text.trim() === "") throw new SendRefused("The text message is empty.");
    return text;
  };
}

/** Links with tokens in them are left as they are: their addresses differ from contact to contact. */
function linksIn(message: string): string[] {
  return [...new Set((message.match(LINK) ?? []).map(withoutEnd).filter((link) => !/[{}]/.test(link)))];
}

function withTrackedLinks(message: string, ids: ReadonlyMap<string, string>): string {
  return message.replace(LINK, (written) => {
    const link = withoutEnd(written);
    const id = ids.get(link);
    return id === undefined ? written : `{trackedlink=${id}}${written.slice(link.length)}`;
  });
}

function withoutEnd(link: string): string {
  return link.replace(AFTER_LINK, "");
}
