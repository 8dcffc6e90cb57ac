import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { Fault } from "@tidings/rpc/fault";
import { html } from "@tidings/runtime/html";
import { type Request, type Response, Router } from "express";
import { type Preview, readPreview } from "../web/preview.ts";
import { type FormRouteOptions, findForm } from "./form-options.ts";
import { type FormPage, sendFormPage } from "./form-pages.ts";
import { markupFor } from "./personal-form.ts";
import { checkOpen } from "./read-form.ts";

/**
 * `GET /form/preview/<id>`: a form, published or not, as a contact finds it at a time, for whoever has a signed address. It cannot be sent, and nothing
 * is kept of who looks at it.
 */
export function formPreviewRoutes(options: FormRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  router.get("/form/preview/:id", async (request: Request, response: Response, next) => {
    const preview = readPreview(options.settings.tokens.preview, "form", request);
    const form = preview && (await findForm(options, String(preview.id)));
    if (!preview || !form) return next();
    const shown = await shownAt(options, form, preview);
    await sendFormPage(response, options, { ...shown, form, isPreview: true });
  });
  return router;
}

/** The form, or the message of a published one that takes nothing at that time. */
async function shownAt(
  options: FormRouteOptions,
  form: Form,
  { contactId, at }: Preview,
): Promise<Omit<FormPage, "form">> {
  try {
    checkOpen({ ...form, isPublished: true }, at);
  } catch (error) {
    if (error instanceof Fault) return { message: html`${error.message}`.markup };
    throw error;
  }
  return { markup: await markupFor(options, form, { findContact: async () => contactId }) };
}
