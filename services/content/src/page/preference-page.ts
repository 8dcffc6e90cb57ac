import { type FormInPage, NOBODY } from "../form/personal-form.ts";
import type { PreferencesInPage } from "../send/preference-landing.ts";
import { findPageAt } from "./find-page.ts";
import { type PageForContactOptions, pageForContact } from "./page-for-contact.ts";

/** Shows pages that are preference centres to readers of mails. No visitor finds them by their aliases. */
export function preferencesInPages(
  options: PageForContactOptions & { formInPage: FormInPage },
): PreferencesInPage {
  const { database, formInPage } = options;
  return async (pageId, contactId, partOf) => {
    const at = database.now();
    const found = await findPageAt(database, pageId, at);
    if (!found?.page.isOpen || !found.page.isPreferenceCenter) return undefined;
    const form = (id: string, inPage: number) => formInPage(id, { pageId: inPage, viewer: NOBODY });
    return pageForContact(options, found, { contactId, at, form, preferencePart: partOf });
  };
}
