import type { KnownContacts } from "../visit/known-contact.ts";
import type { EmailRevision } from "./email-revision.ts";
import type { LinkedSend } from "./mail-links.ts";
import { compileMail } from "./mail-template.ts";
import { type RenderedMail, type RenderParts, readReader, renderMail } from "./render-mail.ts";

export interface UnsentOptions extends RenderParts {
  contacts: KnownContacts;
}

interface Unsent {
  /** The contact whose values it has; the names of fields stand in their place when undefined. */
  contactId: number | undefined;
  /** Values of tokens as HTML, by name. */
  tokens: Record<string, string>;
  /** In milliseconds since 1970. */
  now: number;
}

/** A send that is none: what is signed in its links is nobody's. */
const NO_SEND: LinkedSend = { hash: "00000000-0000-0000-0000-000000000000", contactId: 0, emailId: 0 };

/** An email in a mail that is no send: a preview, or a mail to others than the contact. Its links are as they were written, and nothing is counted. */
export async function renderUnsent(
  revision: EmailRevision,
  { contactId, tokens, now }: Unsent,
  options: UnsentOptions,
): Promise<RenderedMail> {
  const template = await compileMail(revision, {
    given: Object.keys(tokens),
    trackLinks: async () => new Map(),
    hasPixel: false,
  });
  const about =
    contactId === undefined
      ? nobody(template.contactFields, revision.language)
      : await readReader(options, template, { contactId, revision });
  const reader = { ...about, send: NO_SEND, now, tokens: new Map(Object.entries(tokens)) };
  return renderMail(revision, template, reader, options);
}

/** The names of fields stand for their values. */
function nobody(contactFields: string[], locale: string) {
  const fields = new Map(contactFields.map((alias) => [alias, `[${alias}]`]));
  return { fields, matched: undefined, timeZone: "UTC", locale, owner: undefined };
}
