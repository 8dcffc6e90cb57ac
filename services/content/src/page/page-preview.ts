import type { Database } from "@tidings/database/database";
import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import { type Request, type Response, Router } from "express";
import { chooseTranslation } from "../family/choose-translation.ts";
import type { FormInPage } from "../form/personal-form.ts";
import { slotContent } from "../slot/slot-content.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { type Preview, readPreview, setPreviewHeaders } from "../web/preview.ts";
import { chooseVariant, LOCALE } from "./choose-page.ts";
import { type FoundPage, findPageAt, type PageRow } from "./find-page.ts";
import type { pageRenderer } from "./page-html.ts";

export interface PagePreviewOptions {
  database: Database;
  settings: VisitSettings;
  contacts: KnownContacts;
  render: ReturnType<typeof pageRenderer>;
  formInPage: FormInPage;
}

/**
 * `GET /page/preview/<id>`: a page, published or not, as a contact sees it at a time, for whoever has a signed address. Nothing is counted or kept of
 * who looks at it.
 */
export function pagePreviewRoutes(options: PagePreviewOptions): Router {
  const router = Router({ caseSensitive: true });
  router.get("/page/preview/:id", async (request: Request, response: Response, next) => {
    const preview = readPreview(options.settings.tokens.preview, "page", request);
    const found = preview && (await findPageAt(options.database, preview.id, preview.at));
    if (!preview || !found) return next();
    setPreviewHeaders(response);
    if (!found.page.isWithinDates) return answerClosed(response, found.page);
    response.type("text/html").send(await previewHtml(options, preview, found));
  });
  return router;
}

/** Answers as visitors are answered before a published page opens, and after it closed. */
function answerClosed(response: Response, { redirectType, redirectUrl }: PageRow): void {
  if (redirectType !== undefined && redirectUrl) return void response.redirect(redirectType, redirectUrl);
  response.setHeader("content-security-policy", PLAIN_POLICY);
  response.status(401).type("text/html").send(plainPage("Not available", "This page is not available then."));
}

async function previewHtml(options: PagePreviewOptions, preview: Preview, asked: FoundPage): Promise<string> {
  const { database, contacts, render, formInPage } = options;
  const { contactId, at } = preview;
  const fieldsOf = async (aliases: string[]) =>
    contactId === undefined ? new Map<string, string>() : contacts.fieldsOf(contactId, aliases);
  const locale = asked.translations.length > 0 ? (await fieldsOf([LOCALE])).get(LOCALE) : undefined;
  const translation = locale ? chooseTranslation(asked.page, asked.translations, [locale]) : undefined;
  const found = (translation && (await findPageAt(database, translation.id, at))) ?? asked;
  // A variant that is asked for itself has none: it is shown, where a visitor would be sent to its parent.
  return render(found, chooseVariant(found, undefined), {
    fieldsOf,
    async slot(name) {
      const contact = contactId === undefined ? undefined : { contactId, isProven: true };
      return (await slotContent({ database, contacts }, name, contact, at))?.content;
    },
    form: (id, pageId) => formInPage(id, { pageId, previewAt: at }),
    now: at,
    hitToken: undefined,
  });
}
