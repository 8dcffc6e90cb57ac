import { TRANSFER_PATH } from "@tidings/rpc/transfer";
import type { Log } from "@tidings/runtime/log";
import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import express, { type Express, type NextFunction, type Request, type Response, type Router } from "express";
import { sendWebError } from "./web-error.ts";

const START = plainPage(
  "Tidings",
  "Pages, forms and files that are published with Tidings are here. There is none at this address.",
);
const NOT_FOUND = plainPage("Not found", "There is no such page, or it is gone.");
/** Programs that look for pages leave the API alone. */
const ROBOTS = "User-agent: *\nDisallow: /api/\nDisallow: /oauth/\n";

export interface WebParts {
  log: Log;
  /** Routes for the gateway alone. */
  transfer: Router;
  images: Router;
  /** Routes for visitors, in the order in which they are tried. */
  visitors: Router[];
}

/** The public web, reached through the gateway, without anything of the API. */
export function webApp({ log, transfer, images, visitors }: WebParts): Express {
  const app = express();
  app.disable("x-powered-by").disable("etag").set("query parser", false).enable("case sensitive routing");
  app.use((_request, response, next) => {
    response.setHeader("content-security-policy", PLAIN_POLICY);
    response.setHeader("x-content-type-options", "nosniff");
    response.setHeader("cache-control", "no-store");
    next();
  });
  app.get("/robots.txt", (_request, response) => {
    response.setHeader("cache-control", "public, max-age=3600");
    response.type("text/plain").send(ROBOTS);
  });
  app.use(TRANSFER_PATH, transfer);
  app.use("/media/images", images);
  app.get("/", (_request, response) => {
    response.type("text/html").send(START);
  });
  for (const routes of visitors) app.use(routes);
  app.use((_request, response) => {
    response.status(404).type("text/html").send(NOT_FOUND);
  });
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) =>
    sendWebError(request, response, error, log),
  );
  return app;
}
