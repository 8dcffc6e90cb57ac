import type { Log } from "@tidings/runtime/log";
import { type NextFunction, type Request, type Response, Router } from "express";
import { place } from "../place.ts";
import { sendOAuthError } from "./oauth-error.ts";
import { revocationEndpoint } from "./revocation-endpoint.ts";
import { type TokenEndpointOptions, tokenEndpoint } from "./token-endpoint.ts";

/** Endpoints for apps: tokens and their revocation. */
export function oauthRouter(options: TokenEndpointOptions, log: Log): Router {
  const router = Router({ caseSensitive: true });
  const token = tokenEndpoint(options);
  place(router, "/v2/token", { GET: token, POST: token });
  place(router, "/v2/revoke", { POST: revocationEndpoint(options) });
  router.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendOAuthError(response, error, log);
  });
  return router;
}
