import type { NextFunction, Request, Response } from "express";
import type { VisitSettings } from "./visit-settings.ts";

const PREFLIGHT_SECONDS = 86_400;

/** May scripts of this origin read what is answered to them? Pages in a sandbox, as ours are, have the origin `null`. */
export function isTrackedOrigin(origin: string, { origins, publicUrl }: VisitSettings): boolean {
  return origins.has("*") || origins.has(origin) || origin === "null" || origin === new URL(publicUrl).origin;
}

/** Answers `success: 0` to scripts of sites that are not tracked. */
export function fromTrackedSites(settings: VisitSettings) {
  return ({ headers: { origin } }: Request, response: Response, next: NextFunction): void => {
    if (origin === undefined || isTrackedOrigin(origin, settings)) next();
    else response.json({ success: 0 });
  };
}

/** Lets scripts of tracked sites read an answer (Fetch, CORS protocol): with cookies where the site is named, else without. */
export function sharedWith(settings: VisitSettings) {
  return (request: Request, response: Response, next: NextFunction): void => {
    const { origin } = request.headers;
    response.setHeader("vary", "Origin");
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    if (origin !== undefined && isTrackedOrigin(origin, settings)) {
      const isNamed = settings.origins.has(origin);
      response.setHeader("access-control-allow-origin", isNamed || origin === "null" ? origin : "*");
      if (isNamed) response.setHeader("access-control-allow-credentials", "true");
    }
    if (request.method === "OPTIONS") answerPreflight(response);
    else next();
  };
}

function answerPreflight(response: Response): void {
  response.setHeader("access-control-allow-methods", "GET, POST");
  response.setHeader("access-control-allow-headers", "Content-Type, X-Requested-With");
  response.setHeader("access-control-max-age", PREFLIGHT_SECONDS);
  response.status(204).end();
}
