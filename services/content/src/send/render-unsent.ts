import type { KnownContacts } from "../visit/known-contact.ts";
import type { EmailRevision } from "./email-revision.ts";
import type { FieldLabels } from "./field-labels.ts";
import type { LinkedSend } from "./mail-links.ts";
import { readReader } from "./mail-reader.ts";
import { compileMail, type MailTemplate } from "./mail-template.ts";
import { type RenderedMail, type RenderParts, renderMail } from "./render-mail.ts";
import { untracked } from "./track-links.ts";

export interface UnsentOptions extends RenderParts {
  contacts: KnownContacts;
  labelsOf: FieldLabels;
}

interface Unsent {
  /** The contact whose values it has. Undefined: nobody, so that defaults and labels of fields stand in their place. */
  contactId: number | undefined;
  /** Values of tokens as HTML, by name. */
  tokens: Record<string, string>;
  /** In milliseconds since 1970. */
  now: number;
}

/** A send that is none: what is signed in its links is nobody's. */
export const NO_SEND: LinkedSend = { hash: "00000000-0000-0000-0000-000000000000", contactId: 0, emailId: 0 };

/** An email in a mail that is no send: one to others than the contact. Its links are as they were written, and nothing is counted. */
export async function renderUnsent(
  revision: EmailRevision,
  unsent: Unsent,
  options: UnsentOptions,
): Promise<RenderedMail> {
  const template = await compileUnsent(revision, Object.keys(unsent.tokens));
  return renderCompiled(revision, template, unsent, options);
}

/** The template of an email in such mails, with tokens of these names. Throws TemplateError for a text that is too large. */
export function compileUnsent(revision: EmailRevision, given: string[]): Promise<MailTemplate> {
  return compileMail(revision, { given, trackLinks: untracked, hasPixel: false });
}

/** The same of an email that is compiled. */
export async function renderCompiled(
  revision: EmailRevision,
  template: MailTemplate,
  { contactId, tokens, now }: Unsent,
  options: UnsentOptions,
): Promise<RenderedMail> {
  const about =
    contactId === undefined
      ? nobody(revision.language, await options.labelsOf(template.contactFields))
      : await readReader(options, template, { contactId, revision, now });
  const reader = { ...about, send: NO_SEND, now, tokens: new Map(Object.entries(tokens)) };
  return renderMail(revision, template, reader, options);
}

/** Tokens have their defaults. The labels of fields stand for those that have none (engines.md 6.6). */
function nobody(locale: string, labels: Readonly<Record<string, string>>) {
  return {
    fields: new Map<string, string>(),
    placeholderOf: (alias: string) => `[${Object.hasOwn(labels, alias) ? labels[alias] : alias}]`,
    ...{ versions: new Map<string, number>(), timeZone: "UTC", locale, owner: undefined },
  };
}
