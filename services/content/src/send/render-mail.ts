import type { Mailbox } from "@tidings/mail/compose-mail";
import type { Template } from "@tidings/rendering/compile-template";
import { htmlToText } from "@tidings/rendering/html-to-text";
import type { NamedToken } from "@tidings/rendering/token";
import { type Html, html } from "@tidings/runtime/html";
import { atOnce } from "@tidings/runtime/long-work";
import { withoutTags } from "@tidings/runtime/plain-text";
import type { EmailRevision } from "./email-revision.ts";
import type { MailLinks } from "./mail-links.ts";
import type { Reader } from "./mail-reader.ts";
import { type MailTemplate, readFieldArgument, targetOf } from "./mail-template.ts";
import { type Owners, ownerField } from "./owners.ts";
import { keyOf, type TokenAddressOptions, tokenAddresses } from "./token-addresses.ts";

/** A mail as its reader gets it. */
export interface RenderedMail {
  subject: string;
  html: string;
  text: string;
  /** Empty where the usual sender is meant. */
  fromAddress: string;
  fromName: string;
  /** Absent where replies go to the sender. */
  replyTo?: Mailbox;
  headers: [name: string, value: string][];
}

export interface RenderParts extends TokenAddressOptions {
  links: MailLinks;
  owners: Owners;
}

const WEB = /^https?:/i;
const MAIL_LENGTH_MAX = 4_000_000;

/** Writes the mail of one contact. Throws TemplateError where it would be too large. */
export async function renderMail(
  revision: EmailRevision,
  template: MailTemplate,
  reader: Reader,
  parts: RenderParts,
): Promise<RenderedMail> {
  const linked = (address: string) => parts.links.page(reader.send, address);
  const found = await tokenAddresses(template.tokens, linked, parts);
  const dates = { now: reader.now, timeZone: reader.timeZone, locale: reader.locale };
  const render = (one: Template, look: (token: NamedToken) => string | Html | undefined) =>
    one.render({
      contactFields: reader.fields,
      placeholderOf: reader.placeholderOf,
      valueOf: look,
      dates,
      lengthMax: MAIL_LENGTH_MAX,
    });
  const looks = ({ subject, signature }: { subject?: string; signature?: Html | undefined }) => {
    const inContent = (token: NamedToken): string | Html | undefined => {
      const given = reader.tokens.size > 0 ? reader.tokens.get(nameOf(token)) : undefined;
      if (given !== undefined) return { markup: given };
      return (
        (found.size > 0 ? found.get(keyOf(token)) : undefined) ??
        ownValue(token, { subject, utm: template.utm, signature }, reader, parts.links)
      );
    };
    const inHtml = (token: NamedToken): string | Html | undefined => {
      if (token.name !== "dynamiccontent") return inContent(token);
      const { argument = "" } = token;
      const content = template.contents.get(argument);
      if (!content) return undefined;
      const version = content.versions[reader.versions.get(argument) ?? -1];
      // Contents have no contents: that would have no end.
      return { markup: render(version?.template ?? content.usual, inContent) };
    };
    const inText = (token: NamedToken): string | undefined => {
      const value = inHtml(token);
      if (typeof value !== "object") return value;
      return isSignature(token) ? atOnce(htmlToText(value.markup)) : withoutTags(value.markup);
    };
    return { inHtml, inText };
  };
  // The signature has the name of the sender in it.
  const { inText: inSender } = looks({});
  const { signature, ...sender } = parts.owners.senderOf(revision, reader.owner, {
    address: render(template.fromAddress, inSender).trim(),
    name: render(template.fromName, inSender),
  });
  // A subject has tokens, too, and may stand in the mail.
  const subject = render(template.subject, looks({ signature }).inText);
  const { inHtml, inText } = looks({ subject, signature });
  return {
    ...sender,
    subject,
    html: template.html ? render(template.html, inHtml) : "",
    text: render(template.text, (token) => textOf(token, reader, parts.links) ?? inText(token)),
    headers: template.headers.map(([name, value]) => [name, render(value, inText)]),
  };
}

function ownValue(
  { name, argument = "" }: NamedToken,
  {
    subject,
    utm,
    signature,
  }: { subject: string | undefined; utm: [name: string, value: string][]; signature: Html | undefined },
  { send, owner, fields }: Reader,
  links: MailLinks,
): string | Html | undefined {
  switch (name) {
    case "trackedlink":
      return links.tracked(send, argument, utm);
    case "trackedfield": {
      const { id, alias, fallback } = readFieldArgument(argument);
      const value = (fields.get(alias) || fallback).trim();
      const target = targetOf({ address: value });
      // Whatever is no address on the web stays as it is, and is not followed by way of us.
      return (WEB.test(target) && URL.canParse(target) && links.trackedTo(send, target, id, utm)) || value;
    }
    case "subject":
      return subject;
    case "signature":
      return signature;
    case "ownerfield":
      return ownerField(owner, argument);
    case "unsubscribe_url":
      return links.unsubscribe(send);
    case "dnc_url":
      return links.refuseAll(send);
    case "webview_url":
      return links.webView(send);
    case "tracking_pixel":
      return links.pixel(send);
    case "scanner_trap":
      return send.isBulk ? trap(links.trap(send)) : undefined;
    case "unsubscribe_text":
      return html`<a href="${links.unsubscribe(send)}">Unsubscribe</a> to no longer receive emails from us.`;
    case "webview_text":
      return html`<a href="${links.webView(send)}">Having trouble reading this email? Click here.</a>`;
    default:
      return undefined;
  }
}

/** Neither shown nor read aloud, and reached by no key: whoever follows it reads the source. */
function trap(address: string): Html {
  return html`<a href="${address}" aria-hidden="true" tabindex="-1" style="display:none"></a>`;
}

function isSignature({ name, argument }: NamedToken): boolean {
  return name === "signature" || (name === "ownerfield" && argument === "signature");
}

/** A token by which a send gives its value. */
function nameOf({ name, argument }: NamedToken): string {
  return argument === undefined ? name : `${name}=${argument}`;
}

/** The tokens that are a link in HTML, in words where there are none. */
function textOf({ name }: NamedToken, { send }: Reader, links: MailLinks): string | undefined {
  if (name === "unsubscribe_text")
    return `Unsubscribe to no longer receive emails from us: ${links.unsubscribe(send)}`;
  return name === "webview_text" ? `Having trouble reading this email? ${links.webView(send)}` : undefined;
}
