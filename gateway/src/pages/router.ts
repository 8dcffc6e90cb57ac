import type { Log } from "@tidings/runtime/log";
import { type ErrorRequestHandler, type Request, type Response, Router } from "express";
import { type PlaceHandler, place } from "../place.ts";
import { type ErrorEntry, sendError } from "../rest/error.ts";
import { authorisationList, authorisationRevocation } from "./authorisations.ts";
import { authorizeAnswer, authorizePage } from "./authorize.ts";
import { counted } from "./counted.ts";
import { deleteCredential, editCredential, rotateCredential, saveCredential } from "./credential-changes.ts";
import { createCredential, credentialList, newCredential } from "./credentials.ts";
import { sendErrorPage } from "./error-page.ts";
import { SIGN_IN_PATH, START_PATH } from "./next.ts";
import { sendOn } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";
import { changePassword, endOtherSessions, passwordPage } from "./password.ts";
import { signInCheck, signInPage, signOut } from "./sign-in.ts";

/** All pages for browsers. Requests are counted by address. */
export function pagesRouter(options: PagesOptions, log: Log): Router {
  const router = Router({ caseSensitive: true });
  const get = (page: PageMaker) => ({ GET: counted(options, page(options)) });
  const post = (page: PageMaker) => ({ POST: counted(options, page(options)) });
  // A browser that opens the target of a form by its address, or restores its tab, sees the page with the form.
  const sentOn = (path: string) => ({
    GET: async (_request: Request, response: Response) => sendOn(response, path),
  });

  place(router, "/", sentOn(START_PATH));
  place(router, "/oauth/v2/authorize", { ...get(authorizePage), ...post(authorizeAnswer) });
  place(router, SIGN_IN_PATH, get(signInPage));
  place(router, `${SIGN_IN_PATH}_check`, { ...sentOn(SIGN_IN_PATH), ...post(signInCheck) });
  place(router, "/sign-out", { ...sentOn(START_PATH), ...post(signOut) });
  place(router, "/credentials", get(credentialList));
  place(router, "/credentials/new", { ...get(newCredential), ...post(createCredential) });
  place(router, "/credentials/:id/edit", { ...get(editCredential), ...post(saveCredential) });
  place(router, "/credentials/:id/secret", { ...sentOn("/credentials"), ...post(rotateCredential) });
  place(router, "/credentials/:id/delete", { ...sentOn("/credentials"), ...post(deleteCredential) });
  place(router, "/authorisations", get(authorisationList));
  place(router, "/authorisations/:id/revoke", { ...sentOn(START_PATH), ...post(authorisationRevocation) });
  place(router, "/password", { ...get(passwordPage), ...post(changePassword) });
  place(router, "/password/sessions", { ...sentOn("/password"), ...post(endOtherSessions) });
  router.use(pageErrors(options, log));
  return router;
}

type PageMaker = (options: PagesOptions) => PlaceHandler;

/** Errors as pages. */
export function pageErrors(options: PagesOptions, log: Log): ErrorRequestHandler {
  return (error, request, response, _next) => {
    const write = (entry: ErrorEntry) =>
      void sendErrorPage(request, response, { error, entry }, options).catch(() => response.destroy());
    sendError(response, error, { log, challenge: [], write });
  };
}
