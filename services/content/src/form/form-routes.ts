import { publicTokens } from "@tidings/secrets/public-token";
import { type Request, type Response, Router } from "express";
import { sharedWith } from "../visit/cross-origin.ts";
import { addressOf } from "../visit/page-hit.ts";
import { readParameters } from "../visit/parameters.ts";
import { keepNewDevice, visitOf } from "../visit/visit.ts";
import { companyLookup } from "./company-lookup.ts";
import { messageOf } from "./form-message.ts";
import { type FormRouteOptions, openForm, unlessClosed } from "./form-options.ts";
import { insertingScript, sendEmbedded, sendFormPage } from "./form-pages.ts";
import { formPreviewRoutes } from "./form-preview.ts";
import { isAskedByNamedSite, isOnNamedSite } from "./named-site.ts";
import { markupFor, NOBODY, viewerOf } from "./personal-form.ts";
import { submitRoute } from "./submit-route.ts";

/** Forms as visitors see, fill in and send them (engines.md 5.1). */
export function formRoutes(options: FormRouteOptions): Router {
  const { settings } = options;
  const messages = publicTokens(options.tokenKeys, "form message");
  const router = Router({ caseSensitive: true });
  /** A browser that was here before. */
  const knownViewer = (request: Request) => {
    const { device } = visitOf(request, new Map(), settings);
    return device && !device.isNew ? viewerOf({ device }, options.submitting.database) : NOBODY;
  };
  router.all("/form/submit/ajax", sharedWith(settings), (request: Request, response: Response) =>
    submitRoute(options, messages, request, response, true),
  );
  router.post("/form/submit", (request: Request, response: Response) =>
    submitRoute(options, messages, request, response, false),
  );
  router.post("/form/company-lookup/autocomplete", (request: Request, response: Response) =>
    companyLookup(options, request, response),
  );
  router.get("/form/message", async (request: Request, response: Response, next) => {
    const parameters = await readParameters(request);
    const shown = await messageOf(options, messages.read(parameters.get("m") ?? ""));
    return shown ? sendFormPage(response, options, shown) : next();
  });
  router.get("/form/script.js", async (_request: Request, response: Response) => {
    response.setHeader("cache-control", "public, max-age=300");
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    response.type("text/javascript").send(await options.script());
  });
  router.get("/form/generate.js", async (request: Request, response: Response) => {
    const parameters = await readParameters(request);
    const form = await openForm(options, parameters.get("id") ?? "").catch(() => undefined); // then there is nothing to insert
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    response.type("text/javascript");
    if (!form) return void response.send("");
    const viewer = isAskedByNamedSite(request, settings) ? knownViewer(request) : NOBODY;
    const markup = await markupFor(options, form, viewer);
    response.send(insertingScript(form, markup, await options.script()));
  });
  router.get("/form/embed/:id", async (request: Request, response: Response) => {
    const form = await openForm(options, String(request.params.id)).catch(() => undefined); // an empty 404, whatever is the reason
    if (!form) return void response.status(404).end();
    const parameters = await readParameters(request);
    const markup = await markupFor(options, form, knownViewer(request));
    sendEmbedded(response, options, { form, markup, isOverVideo: parameters.get("video") === "1" });
  });
  router.use(formPreviewRoutes(options));
  router.get("/form/:id", async (request: Request, response: Response, next) => {
    if (!(await sendWholePage(options, request, response))) next();
  });
  return router;
}

/** Sends the page of a form; false when there is no such form. */
async function sendWholePage(
  options: FormRouteOptions,
  request: Request,
  response: Response,
): Promise<boolean> {
  const { settings } = options;
  const parameters = await readParameters(request);
  const form = await openForm(options, String(request.params.id)).catch(unlessClosed);
  if (!form) return false;
  const filled = new Map([...parameters].map(([alias, text]) => [alias, text.split("|")]));
  const styles = (parameters.get("css") ?? "").split(",").flatMap((url) => addressOf(url.trim()) || []);
  const visit = visitOf(request, parameters, settings);
  if (visit.device?.isNew) keepNewDevice(response, visit.device.id, settings);
  // A stylesheet can send the values of inputs to its own site, by selectors and pictures.
  const isPrivate = styles.every((url) => isOnNamedSite(url, settings));
  const viewer = isPrivate ? viewerOf(visit, options.submitting.database) : NOBODY;
  const markup = await markupFor(options, form, viewer, { filled });
  await sendFormPage(response, options, { form, markup, styles: styles.slice(0, 5) });
  return true;
}
