import type { Database } from "@tidings/database/database";
import { chooseTranslation } from "../family/choose-translation.ts";
import { slotContents } from "../slot/slot-content.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { chooseVariant, LOCALE } from "./choose-page.ts";
import { type FoundPage, findPageAt } from "./find-page.ts";
import type { pageRenderer, Seen } from "./page-html.ts";

export interface PageForContactOptions {
  database: Database;
  contacts: KnownContacts;
  render: ReturnType<typeof pageRenderer>;
}

/** The contact that sees a page, undefined for nobody in particular, and the time at which, in milliseconds since 1970. */
export type ShownTo = { contactId: number | undefined; at: number } & Pick<Seen, "form" | "preferencePart">;

/** A page as a contact finds it at a time, in the language that the contact prefers. Nothing is counted or kept of it. */
export async function pageForContact(
  { database, contacts, render }: PageForContactOptions,
  asked: FoundPage,
  { contactId, at, ...seen }: ShownTo,
): Promise<string> {
  const fieldsOf = async (aliases: string[]) =>
    contactId === undefined ? new Map<string, string>() : contacts.fieldsOf(contactId, aliases);
  const locale = asked.translations.length > 0 ? (await fieldsOf([LOCALE])).get(LOCALE) : undefined;
  const translation = locale ? chooseTranslation(asked.page, asked.translations, [locale]) : undefined;
  const found = (translation && (await findPageAt(database, translation.id, at))) ?? asked;
  const contact = contactId === undefined ? undefined : { contactId, mayRead: true };
  const contentOf = slotContents({ database, contacts }, contact, at);
  // A variant that is asked for itself has none: it is shown, where a visitor would be sent to its parent.
  return render(found, chooseVariant(found, undefined), {
    ...seen,
    fieldsOf,
    slot: async (name) => (await contentOf(name))?.content,
    now: at,
    hitToken: undefined,
  });
}
