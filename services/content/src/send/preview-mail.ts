import { htmlLinks } from "@tidings/rendering/html-links";
import { scanHtml } from "@tidings/rendering/scan-html";
import type { KnownContacts } from "../visit/known-contact.ts";
import type { EmailRevision } from "./email-revision.ts";
import type { LinkedSend } from "./mail-links.ts";
import { compileMail, isTracked } from "./mail-template.ts";
import { type RenderedMail, type RenderParts, readReader, renderMail } from "./render-mail.ts";

/** Something that readers of a mail, or their programs, would not like. */
export interface MailWarning {
  code: "no_unsubscribe" | "clipped" | "image_without_alt" | "empty_link";
  message: string;
}

export interface MailPreview extends RenderedMail {
  /** The length of the HTML. */
  bytes: number;
  links: { url: string; tracked: boolean }[];
  warnings: MailWarning[];
}

export interface PreviewOptions extends RenderParts {
  contacts: KnownContacts;
}

/** Gmail shows no more of a mail. */
const BYTES_SHOWN = 102_400;
/** A send that is none: links of a preview lead nowhere. */
const NO_SEND: LinkedSend = { hash: "00000000-0000-0000-0000-000000000000", contactId: 0, emailId: 0 };

/**
 * An email as a contact would get it now; with the names of fields in place of values for nobody in particular. Nothing is sent, counted or kept. Links are
 * shown as they are written.
 */
export async function previewMail(
  revision: EmailRevision,
  { contactId, isBulk, now }: { contactId: number | undefined; isBulk: boolean; now: number },
  options: PreviewOptions,
): Promise<MailPreview> {
  const template = await compileMail(revision, {
    given: [],
    trackLinks: async () => new Map(),
    hasPixel: false,
  });
  const { language } = revision;
  const about =
    contactId === undefined
      ? nobody(template.contactFields, language)
      : await readReader(options.contacts, template, { contactId, language });
  const reader = { ...about, send: NO_SEND, now, tokens: new Map<string, string>() };
  const mail = await renderMail(revision, template, reader, options);
  const links = htmlLinks(mail.html).map((link) => ({ url: link.address, tracked: isTracked(link) }));
  return { ...mail, links, bytes: Buffer.byteLength(mail.html), warnings: warningsOf(mail, links, isBulk) };
}

/** The names of fields stand for their values. */
function nobody(contactFields: string[], locale: string) {
  const fields = new Map(contactFields.map((alias) => [alias, `[${alias}]`]));
  return { fields, matched: undefined, timeZone: "UTC", locale };
}

function warningsOf({ html, text }: RenderedMail, links: { url: string }[], isBulk: boolean): MailWarning[] {
  const canLeave = [html, text].some((part) => /\/email\/(?:unsubscribe|dnc)\//.test(part));
  return [
    ...(isBulk && !canLeave
      ? [
          warning(
            "no_unsubscribe",
            "There is no link to unsubscribe: {unsubscribe_url} or {unsubscribe_text}.",
          ),
        ]
      : []),
    ...(Buffer.byteLength(html) > BYTES_SHOWN
      ? [warning("clipped", `The HTML is longer than ${BYTES_SHOWN} bytes: some programs show a part of it.`)]
      : []),
    ...(hasImageWithoutAlt(html) ? [warning("image_without_alt", "A picture has no alternative text.")] : []),
    ...(links.some(({ url }) => url === "" || url === "#")
      ? [warning("empty_link", "A link leads nowhere.")]
      : []),
  ];
}

function warning(code: MailWarning["code"], message: string): MailWarning {
  return { code, message };
}

function hasImageWithoutAlt(html: string): boolean {
  let isFound = false;
  let isImage = false;
  let hasAlt = false;
  scanHtml(html, {
    openTag(name) {
      isImage = name === "img";
      hasAlt = false;
    },
    attribute(name) {
      hasAlt ||= name === "alt";
    },
    tagEnd() {
      isFound ||= isImage && !hasAlt;
    },
    closeTag: () => undefined,
    text: () => undefined,
  });
  return isFound;
}
