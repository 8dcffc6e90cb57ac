import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Request, type Response, Router } from "express";
import { type PlaceHandler, place } from "../place.ts";
import { counted } from "./counted.ts";
import type { PagesOptions } from "./pages-options.ts";

export const DOCS_PATH = "/api/docs";
/** RapiDoc and a page around it, beside the bundle of the process. */
const FOLDER = join(import.meta.dirname, "viewer");
const SCRIPTS = ["api-docs.js", "rapidoc-min.js"];

/** The viewer runs its own scripts, styles itself, and asks nobody but this service. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  "connect-src 'self'",
  "img-src data:",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join("; ");

/** Shows the description of the API to people. It has no name and no text of users. */
export function apiDocsRouter(options: Pick<PagesOptions, "anonymousRate" | "clientIp">): Router {
  const router = Router({ caseSensitive: true });
  place(router, DOCS_PATH, { GET: counted(options, file("page.html", "text/html")) });
  for (const name of SCRIPTS)
    place(router, `${DOCS_PATH}/${name}`, { GET: counted(options, file(name, "text/javascript")) });
  return router;
}

function file(name: string, type: string): PlaceHandler {
  return async (_request: Request, response: Response) => {
    response.setHeader("content-type", `${type}; charset=utf-8`);
    response.setHeader("content-security-policy", POLICY);
    response.setHeader("cache-control", "public, max-age=3600");
    response.end(await readFile(join(FOLDER, name)));
  };
}
