import type { Log } from "@tidings/runtime/log";
import { type NextFunction, type Request, type Response, Router } from "express";
import { addressKey } from "../limits/address-key.ts";
import { consume } from "../limits/rate-limit.ts";
import { type PlaceHandler, place } from "../oauth/place.ts";
import { type ErrorEntry, sendError } from "../rest/error.ts";
import { authorisationList, authorisationRevocation } from "./authorisations.ts";
import { authorizeAnswer, authorizePage } from "./authorize.ts";
import {
  createCredential,
  credentialList,
  deleteCredential,
  newCredential,
  rotateCredential,
} from "./credentials.ts";
import { html } from "./html.ts";
import { SIGN_IN_PATH, START_PATH } from "./next.ts";
import { sendPage } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";
import { signInCheck, signInPage, signOut } from "./sign-in.ts";

/** Everything that people see in a browser. Whoever asks is counted by address. */
export function pagesRouter(options: PagesOptions, log: Log): Router {
  const router = Router({ caseSensitive: true });
  const counted =
    (handler: PlaceHandler): PlaceHandler =>
    async (request, response) => {
      await consume(options.anonymousRate, addressKey(options.clientIp(request)), response);
      await handler(request, response);
    };
  const get = (page: PageMaker) => ({ GET: counted(page(options)) });
  const post = (page: PageMaker) => ({ POST: counted(page(options)) });

  place(router, "/oauth/v2/authorize", { ...get(authorizePage), ...post(authorizeAnswer) });
  place(router, SIGN_IN_PATH, get(signInPage));
  place(router, `${SIGN_IN_PATH}_check`, post(signInCheck));
  place(router, "/sign-out", post(signOut));
  place(router, "/credentials", get(credentialList));
  place(router, "/credentials/new", { ...get(newCredential), ...post(createCredential) });
  place(router, "/credentials/:id/secret", post(rotateCredential));
  place(router, "/credentials/:id/delete", post(deleteCredential));
  place(router, "/authorisations", get(authorisationList));
  place(router, "/authorisations/:id/revoke", post(authorisationRevocation));
  router.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    sendError(response, error, { log, challenge: [], write: (entry) => sendErrorPage(response, entry) });
  });
  return router;
}

type PageMaker = (options: PagesOptions) => PlaceHandler;

function sendErrorPage(response: Response, { code, message }: ErrorEntry): void {
  const title = code === 404 ? "Not found" : code < 500 ? "This did not work" : "Something went wrong";
  const content = html`<div class="sheet"><h1>${title}</h1><p>${message}</p>
<p><a href="${START_PATH}">To the start</a></p></div>`;
  sendPage(response, { title, content, status: code });
}
