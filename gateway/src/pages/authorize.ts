import { badRequest } from "@tidings/rpc/fault";
import { type Html, html, named } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import { auditConsent, issueCode } from "../oauth/authorization-code.ts";
import { type AuthorizationTarget, checkAuthorization, findTarget } from "../oauth/authorization-request.ts";
import { formActionOf, withParameters } from "../oauth/client.ts";
import { hasConsent } from "../oauth/grant.ts";
import { OAuthError } from "../oauth/oauth-error.ts";
import { type Query, queryOf } from "../rest/query.ts";
import { readForm } from "./form.ts";
import { START_PATH, sendToSignIn } from "./next.ts";
import { STALE_FORM } from "./notice.ts";
import { sendOn, sendPage } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";
import { mayAuthorise } from "./permission.ts";
import { openVisit, type SignedIn, type Visit } from "./visit.ts";

const FORM = "authorize";
const WRITE_MS = 10_000;

/** Asks the user whether an app may act for them (RFC 6749, 4.1.1), unless they have let it in before. */
export function authorizePage(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const authorization = await openAuthorization(request, response, options);
    if (!authorization) return;
    const { target, user } = authorization;
    if (await isRemembered(options, target, user)) return letIn(options, response, authorization, false);
    sendConsent(response, consentOf(request, authorization));
  };
}

function consentOf({ originalUrl: path }: Request, { visit, user, target }: Authorization): Consent {
  return { path, visit, user, target };
}

/** Takes the answer of the user and brings it to the app. */
export function authorizeAnswer(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const authorization = await openAuthorization(request, response, options);
    if (!authorization) return;
    const { visit } = authorization;
    const form = await readForm(request, { visit, name: FORM, apiOrigin: options.apiOrigin });
    if (form.isStale)
      return sendConsent(response, { ...consentOf(request, authorization), isRepeated: true });
    if (form.texts("accepted").length > 0) return letIn(options, response, authorization, true);
    await keepOut(options, response, authorization);
  };
}

interface Authorization {
  target: AuthorizationTarget;
  challenge: string | undefined;
  state: string | undefined;
  visit: Visit;
  user: SignedIn;
}

/** A request that may be granted and the user to ask; undefined when it was answered already. */
async function openAuthorization(
  request: Request,
  response: Response,
  options: PagesOptions,
): Promise<Authorization | undefined> {
  const query = queryOf(request.url);
  const target = await findTarget(options.database, query).catch(asPageFault);
  const state = stateOf(query);
  try {
    const challenge = checkAuthorization(target, query);
    const visit = await openVisit(request, response, options);
    const { user } = visit;
    if (!user) sendToSignIn(response, request.originalUrl);
    else if (!mayAuthorise(user)) {
      const denial = { error: "access_denied", description: "The user may not let apps in", state };
      sendNoRight(response, { path: request.originalUrl, visit, user, target }, errorAddress(target, denial));
    } else return { target, challenge, state, visit, user };
  } catch (error) {
    if (!(error instanceof OAuthError)) throw error;
    sendOn(response, errorAddress(target, { error: error.type, description: error.message, state }));
  }
  return undefined;
}

/** A page shows the person what is wrong with the client or its address. */
function asPageFault(error: unknown): never {
  throw error instanceof OAuthError ? badRequest(error.message) : error;
}

function stateOf({ state }: Query): string | undefined {
  return typeof state === "string" ? state : undefined;
}

/**
 * An app that has neither a secret nor an address that is its alone may be another one under its name: its user is asked
 * every time (RFC 8252, 8.6).
 */
async function isRemembered(
  { database }: PagesOptions,
  { client, redirectUri }: AuthorizationTarget,
  user: SignedIn,
): Promise<boolean> {
  if (client.isPublic && !redirectUri.startsWith("https:")) return false;
  return hasConsent(database, user.id, client.id, Date.now() + WRITE_MS);
}

async function letIn(
  { database }: PagesOptions,
  response: Response,
  { target, challenge, state, visit, user }: Authorization,
  wasAsked: boolean,
): Promise<void> {
  const { clientIp } = visit;
  const deadlineMs = Date.now() + WRITE_MS;
  const code = await issueCode(database, { ...target, challenge, user, clientIp, wasAsked, deadlineMs });
  sendOn(response, withParameters(target.redirectUri, { code, state }));
}

async function keepOut(
  { database }: PagesOptions,
  response: Response,
  { target, state, visit, user }: Authorization,
): Promise<void> {
  const { client } = target;
  await database.transaction(Date.now() + WRITE_MS, (transaction) =>
    auditConsent(
      transaction,
      "consent_denied",
      { user, client, clientIp: visit.clientIp },
      {
        client: client.publicId,
      },
    ),
  );
  const description = "The user denied access to your application";
  sendOn(response, errorAddress(target, { error: "access_denied", description, state }));
}

function errorAddress(
  { redirectUri }: AuthorizationTarget,
  { error, description, state }: { error: string; description: string; state: string | undefined },
): string {
  return withParameters(redirectUri, { error, error_description: description, state });
}

interface Consent {
  path: string;
  visit: Visit;
  user: SignedIn;
  target: AuthorizationTarget;
  /** It was answered already, in another session. */
  isRepeated?: boolean;
}

function sendConsent(response: Response, { path, visit, user, target, isRepeated }: Consent): void {
  const { client, redirectUri } = target;
  const name = named(client.name);
  const content = html`<div class="sheet">
<h1>Let ${name} use Tidings as you?</h1>
${isRepeated ? STALE_FORM : undefined}
<p><strong>${name}</strong> asks to use Tidings as <strong>${named(user.name)}</strong>. It will be able to see and
change whatever you can${user.admin ? ", and that is everything, since you are an administrator" : ""}, until you remove it
under <a href="${START_PATH}">Authorised apps</a>.</p>
<dl><dt>Returns to</dt><dd><code>${formActionOf(redirectUri)}</code>${isOnDevice(redirectUri) ? " (an app on this device)" : ""}</dd></dl>
<form method="post" action="${path}">
<input type="hidden" name="csrf" value="${visit.formToken(FORM)}">
<div class="actions wide"><button name="accepted" value="1">Accept</button>
<button class="plain" name="rejected" value="1">Deny</button></div>
</form>
</div>
${otherPerson({ path, visit, user })}`;
  const title = `Let ${client.name} use Tidings?`;
  sendPage(response, { title, content, formAction: formActionOf(redirectUri) });
}

function otherPerson({ path, visit, user }: Pick<Consent, "path" | "visit" | "user">): Html {
  return html`<form method="post" action="/sign-out" class="aside">
<input type="hidden" name="csrf" value="${visit.formToken("sign-out")}">
<input type="hidden" name="next" value="${path}">
Not ${named(user.name)}? <button class="link">Sign in as somebody else</button></form>`;
}

/** Not the end of it: another person may have the right, and the app waits for an answer. */
function sendNoRight(response: Response, { path, visit, user, target }: Consent, back: string): void {
  const name = named(target.client.name);
  const content = html`<div class="sheet"><h1>You may not let apps in</h1>
<p>${name} asks to use Tidings as <strong>${named(user.name)}</strong>, and your role does not allow that. Ask an administrator.</p>
<p><a href="${back}">Back to ${name}</a></p></div>
${otherPerson({ path, visit, user })}`;
  sendPage(response, { title: "You may not let apps in", content, status: 403 });
}

function isOnDevice(redirectUri: string): boolean {
  return !redirectUri.startsWith("https:");
}
