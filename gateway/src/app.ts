import { randomUUID } from "node:crypto";
import { notFound } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import { type ApiOptions, apiRouter, requireEnabled, shedLoad } from "./api.ts";
import { challengesOf } from "./auth/authenticate.ts";
import { oauthRouter } from "./oauth/router.ts";
import type { TokenEndpointOptions } from "./oauth/token-endpoint.ts";
import { observe } from "./observe.ts";
import { apiDocsRouter, DOCS_PATH } from "./pages/api-docs.ts";
import { wantsPage } from "./pages/error-page.ts";
import { mailRouter } from "./pages/mail-router.ts";
import type { PagesOptions } from "./pages/pages-options.ts";
import { pageErrors, pagesRouter } from "./pages/router.ts";
import { sendError } from "./rest/error.ts";
import { checkFraming } from "./rest/framing.ts";
import { isPublic, type WebOptions, webProxy } from "./web.ts";

export interface AppOptions extends ApiOptions {
  web: WebOptions;
  oauth: TokenEndpointOptions;
  pages: PagesOptions;
  log: Log;
  versionHeader: string;
  version: string;
}

/** How apps and people get to the API: off together with it. */
const BESIDE_THE_API = ["/oauth", "/credentials", "/authorisations", "/password", "/mail", "/sign-out"];

/** The public surface, from top to bottom. */
export function createApp(options: AppOptions): Express {
  const app = express();
  // Features that are not used cost a third of a small request: see the benchmark.
  app.disable("x-powered-by").disable("etag").set("query parser", false);
  app.enable("case sensitive routing");
  const isSecure = options.apiOrigin?.startsWith("https:") ?? false;

  app.use((request: Request, response: Response, next: NextFunction) => {
    response.setHeader("x-request-id", requestId(request));
    response.setHeader(options.versionHeader, options.version);
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("cache-control", "no-store");
    if (isSecure) response.setHeader("strict-transport-security", "max-age=31536000");
    observe(request, response, options.log);
    checkFraming(request);
    next();
  });
  const toWeb = webProxy(options.web, options.log);
  app.use((request: Request, response: Response, next: NextFunction) => {
    if (!isPublic(options.web, request)) return next();
    return toWeb(request, response, next);
  });
  app.use(DOCS_PATH, requireEnabled(options.isEnabled), shedLoad(options));
  app.use(apiDocsRouter(options.pages));
  app.use("/api", apiRouter(options));
  app.use(BESIDE_THE_API, requireEnabled(options.isEnabled), shedLoad(options));
  app.use("/oauth", oauthRouter(options.oauth, options.log));
  app.use(pagesRouter(options.pages, options.log));
  app.use(mailRouter({ ...options.pages, clients: options.clients }, options.log));
  app.use(() => {
    throw notFound("The page was not found.");
  });
  const asPage = pageErrors(options.pages, options.log);
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (wantsPage(request)) return asPage(error, request, response, next);
    const challenge = challengesOf(options.authentication, error);
    sendError(response, error, { log: options.log, challenge });
  });
  return app;
}

/** The caller's own id where it is harmless in a log and a header, else a new one. */
function requestId(request: Request): string {
  const sent = request.headers["x-request-id"];
  return typeof sent === "string" && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID();
}
