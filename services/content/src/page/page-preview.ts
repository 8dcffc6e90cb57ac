import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import { type Request, type Response, Router } from "express";
import type { FormInPage } from "../form/personal-form.ts";
import { preferencePreview } from "../send/preference-landing.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { readPreview, setPreviewHeaders } from "../web/preview.ts";
import { findPageAt, type PageRow } from "./find-page.ts";
import { type PageForContactOptions, pageForContact } from "./page-for-contact.ts";
import type { Seen } from "./page-html.ts";

export interface PagePreviewOptions extends PageForContactOptions {
  settings: VisitSettings;
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
    const { contactId, at } = preview;
    const viewer = { findContact: async () => contactId };
    const form: Seen["form"] = (id, pageId) => options.formInPage(id, { pageId, viewer, previewAt: at });
    const write = (preferencePart?: Seen["preferencePart"]) =>
      pageForContact(options, found, { contactId, at, form, ...(preferencePart && { preferencePart }) });
    const isCentre = found.page.isPreferenceCenter;
    response.type("text/html").send(await (isCentre ? preferencePreview(options.database, write) : write()));
  });
  return router;
}

/** Answers as visitors are answered before a published page opens, and after it closed. */
function answerClosed(response: Response, { redirectType, redirectUrl }: PageRow): void {
  if (redirectType !== undefined && redirectUrl) return void response.redirect(redirectType, redirectUrl);
  response.setHeader("content-security-policy", PLAIN_POLICY);
  response.status(401).type("text/html").send(plainPage("Not available", "This page is not available then."));
}
