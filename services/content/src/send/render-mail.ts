import { type MatchedContact, matches } from "@tidings/filters/matches";
import type { Mailbox } from "@tidings/mail/compose-mail";
import type { Template } from "@tidings/rendering/compile-template";
import { htmlToText } from "@tidings/rendering/html-to-text";
import type { NamedToken } from "@tidings/rendering/token";
import { type Html, html } from "@tidings/runtime/html";
import { withoutTags } from "@tidings/runtime/plain-text";
import type { KnownContacts } from "../visit/known-contact.ts";
import type { EmailRevision } from "./email-revision.ts";
import type { LinkedSend, MailLinks } from "./mail-links.ts";
import type { DynamicContent, MailTemplate } from "./mail-template.ts";
import { type Owner, type Owners, ownerField } from "./owners.ts";
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

export interface Reader {
  send: LinkedSend;
  /** Values of fields by alias. */
  fields: ReadonlyMap<string, string>;
  /** The text of a field that has neither a value nor a default: none when absent. */
  placeholderOf?: (alias: string) => string;
  /** The contact as filters ask about it; undefined where no content has filters. */
  matched: MatchedContact | undefined;
  timeZone: string;
  locale: string;
  /** In milliseconds since 1970. */
  now: number;
  /** Values of tokens as HTML, by their names and arguments: `formfield=email`. */
  tokens: ReadonlyMap<string, string>;
  /** The user whom the contact belongs to; undefined where there is none, and where nothing is asked of one. */
  owner: Owner | undefined;
}

/** The contact as a mail of the template needs it; for an email in its own language where the contact prefers none. */
export async function readReader(
  { contacts, owners }: { contacts: KnownContacts; owners: Owners },
  { contactFields, filteredFields, tokens }: MailTemplate,
  { contactId, revision }: { contactId: number; revision: EmailRevision },
): Promise<Pick<Reader, "fields" | "matched" | "timeZone" | "locale" | "owner">> {
  const asksOwner = owners.mayMail(revision) || tokens.some(({ name }) => name === "ownerfield");
  const asked = [
    "email",
    "timezone",
    "preferred_locale",
    ...(asksOwner ? ["owner_id"] : []),
    ...contactFields,
  ];
  const [fields, matched] = await Promise.all([
    contacts.fieldsOf(contactId, asked),
    filteredFields.length > 0 ? contacts.matched(contactId, filteredFields) : undefined,
  ]);
  return {
    fields,
    matched,
    timeZone: fields.get("timezone") || "UTC",
    locale: fields.get("preferred_locale") || revision.language,
    owner: asksOwner ? await owners.find(Number(fields.get("owner_id"))) : undefined,
  };
}

export interface RenderParts extends TokenAddressOptions {
  links: MailLinks;
  owners: Owners;
}

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
  const looks = (signature: Html | undefined) => {
    const inContent = (token: NamedToken): string | Html | undefined => {
      const given = reader.tokens.get(
        token.argument === undefined ? token.name : `${token.name}=${token.argument}`,
      );
      if (given !== undefined) return { markup: given };
      const { subject } = revision;
      return (
        found.get(keyOf(token)) ??
        ownValue(token, { subject, utm: template.utm, signature }, reader, parts.links)
      );
    };
    const inHtml = (token: NamedToken): string | Html | undefined => {
      if (token.name !== "dynamiccontent") return inContent(token);
      const content = template.contents.get(token.argument ?? "");
      // Contents have no contents: that would have no end.
      return content && { markup: render(chosen(content, reader), inContent) };
    };
    const inText = (token: NamedToken): string | undefined => {
      const value = inHtml(token);
      if (typeof value !== "object") return value;
      return isSignature(token) ? htmlToText(value.markup) : withoutTags(value.markup);
    };
    return { inHtml, inText };
  };
  // The signature has the name of the sender in it.
  const { inText: inSender } = looks(undefined);
  const { signature, ...sender } = parts.owners.senderOf(revision, reader.owner, {
    address: render(template.fromAddress, inSender).trim(),
    name: render(template.fromName, inSender),
  });
  const { inHtml, inText } = looks(signature);
  return {
    ...sender,
    subject: render(template.subject, inText),
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
  }: { subject: string; utm: [name: string, value: string][]; signature: Html | undefined },
  { send, owner }: Reader,
  links: MailLinks,
): string | Html | undefined {
  switch (name) {
    case "trackedlink":
      return links.tracked(send, argument, utm);
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
    case "unsubscribe_text":
      return html`<a href="${links.unsubscribe(send)}">Unsubscribe</a> to no longer receive emails from us.`;
    case "webview_text":
      return html`<a href="${links.webView(send)}">Having trouble reading this email? Click here.</a>`;
    default:
      return undefined;
  }
}

function isSignature({ name, argument }: NamedToken): boolean {
  return name === "signature" || (name === "ownerfield" && argument === "signature");
}

/** The tokens that are a link in HTML, in words where there are none. */
function textOf({ name }: NamedToken, { send }: Reader, links: MailLinks): string | undefined {
  if (name === "unsubscribe_text")
    return `Unsubscribe to no longer receive emails from us: ${links.unsubscribe(send)}`;
  return name === "webview_text" ? `Having trouble reading this email? ${links.webView(send)}` : undefined;
}

/** The first version whose filters the contact matches, else the usual content (engines.md 6.7). */
function chosen({ usual, versions }: DynamicContent, { matched, now }: Reader): Template {
  const version = versions.find(({ filters }) => matched && matches(filters, matched, now));
  return version?.template ?? usual;
}
