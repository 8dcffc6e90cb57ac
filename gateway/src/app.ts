import { randomUUID } from "node:crypto";
import { notFound } from "@tidings/rpc/fault";
import type { Log } from "@tidings/runtime/log";
import express, { type Express, type NextFunction, type Request, type Response } from "express";
import { type ApiOptions, apiRouter } from "./api.ts";
import { challengeOf } from "./auth/authenticate.ts";
import { observe } from "./observe.ts";
import { sendError } from "./rest/error.ts";
import { checkFraming } from "./rest/framing.ts";

export interface AppOptions extends ApiOptions {
  log: Log;
  versionHeader: string;
  version: string;
  /** While the process stops, connections are not kept for another request. */
  isStopping(): boolean;
}

/** The public surface, from top to bottom. */
export function createApp(options: AppOptions): Express {
  const app = express();
  const challenge = challengeOf(options.authentication);
  // What nobody reads costs a third of a small request: see the benchmark.
  app.disable("x-powered-by").disable("etag").set("query parser", false);
  app.enable("case sensitive routing");

  app.use((request: Request, response: Response, next: NextFunction) => {
    response.setHeader("x-request-id", requestId(request));
    response.setHeader(options.versionHeader, options.version);
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("content-security-policy", "default-src 'none'; frame-ancestors 'none'");
    response.setHeader("referrer-policy", "no-referrer");
    response.setHeader("cache-control", "no-store");
    if (options.isStopping()) response.setHeader("connection", "close");
    observe(request, response, options.log);
    checkFraming(request);
    next();
  });
  app.use("/api", apiRouter(options));
  app.use(() => {
    throw notFound("The page was not found.");
  });
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendError(response, error, { log: options.log, challenge });
  });
  return app;
}

/** The caller's own id where it is harmless in a log and a header, else a new one. */
function requestId(request: Request): string {
  const sent = request.headers["x-request-id"];
  return typeof sent === "string" && /^[A-Za-z0-9._-]{1,128}$/.test(sent) ? sent : randomUUID();
}
