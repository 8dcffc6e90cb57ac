import { Fault } from "@tidings/rpc/fault";
import { html, named } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import { appendAudit } from "../identity/audit.ts";
import { addressKey } from "../limits/address-key.ts";
import { consume } from "../limits/rate-limit.ts";
import { queryOf } from "../rest/query.ts";
import { readForm } from "./form.ts";
import { appOfNext, nextOf, START_PATH, sendToSignIn } from "./next.ts";
import { sendOn, sendPage } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";
import { closeSession, openSession } from "./session.ts";
import { openVisit, type Visit } from "./visit.ts";

const CHECK_PATH = "/oauth/v2/authorize_login_check";
const FORM = "sign-in";
const LOGIN_MAX = 191;
const WRITE_MS = 10_000;

export function signInPage(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const visit = await openVisit(request, response, options);
    const { next: sent, why } = queryOf(request.url);
    const next = nextOf(sent);
    if (visit.user) return sendOn(response, next);
    const note = why === "ended" ? "Your session ended. What you typed was not saved." : undefined;
    await sendSignIn(options, response, visit, { next, login: "", note });
  };
}

/** Checks the password the way Basic authentication does, with its limits. A session begins with an id of its own. */
export function signInCheck(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const visit = await openVisit(request, response, options);
    const { apiOrigin } = options;
    const form = await readForm(request, { visit, name: FORM, apiOrigin });
    const next = nextOf(form.text("next"));
    const login = form.text("_username").slice(0, LOGIN_MAX);
    // The cookie is gone, or somebody signed in in another tab meanwhile.
    if (form.isStale && visit.user) return sendOn(response, next);
    if (form.isStale) {
      const note = "Please sign in once more; the page was open too long.";
      return sendSignIn(options, response, visit, { next, login, note });
    }
    const password = form.verbatim("_password");
    try {
      const userId = await verify(options, { login, password }, visit, response);
      await startSession(options, response, visit, { login, userId });
      sendOn(response, next);
    } catch (error) {
      const { message, status, retryAfterSeconds } = refusalOf(error);
      if (retryAfterSeconds !== undefined) response.setHeader("retry-after", retryAfterSeconds);
      await sendSignIn(options, response, visit, { next, login, problem: message, status });
    }
  };
}

/** Whatever session there was ends. */
export async function startSession(
  { database, cookie }: PagesOptions,
  response: Response,
  visit: Visit,
  { login, userId }: { login: string; userId: number },
): Promise<void> {
  await closeSession(database, visit.sessionId);
  const sessionId = cookie.renew(response);
  await database.transaction(Date.now() + WRITE_MS, async (transaction) => {
    openSession(transaction, sessionId, userId);
    const actor = { kind: "user", id: userId, name: login };
    const object = { objectType: "user", objectId: String(userId), details: {} };
    await appendAudit(transaction, [
      { action: "session_opened", actor, clientIp: visit.clientIp, ...object },
    ]);
  });
}

interface Login {
  login: string;
  password: string;
}

const VERIFY_MS = 5_000;

/** The user whose password this is. What the verifier takes is the value of a Basic header. */
async function verify(
  { credentials, anonymousRate }: PagesOptions,
  { login, password }: Login,
  { clientIp }: Visit,
  response: Response,
): Promise<number> {
  const count = () => consume(anonymousRate, addressKey(clientIp), response);
  const encoded = Buffer.from(`${login}:${password}`).toString("base64");
  const { id } = await credentials.verifyBasic(encoded, {
    clientIp,
    count,
    deadlineMs: Date.now() + VERIFY_MS,
  });
  if (id === null) throw new Error("a password belongs to a user");
  return id;
}

export function signOut(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const { database, cookie, apiOrigin } = options;
    const visit = await openVisit(request, response, options);
    const form = await readForm(request, { visit, name: "sign-out", apiOrigin });
    // In another tab somebody has signed out, or in again: the button of an old page ends no newer session.
    if (form.isStale && visit.user) return sendOn(response, START_PATH);
    await closeSession(database, visit.sessionId);
    cookie.renew(response);
    sendToSignIn(response, nextOf(form.text("next")));
  };
}

interface Refusal {
  message: string;
  status: number;
  retryAfterSeconds?: number | undefined;
}

/** The message for a refused sign-in. Throws every other error. */
function refusalOf(error: unknown): Refusal {
  if (!(error instanceof Fault)) throw error;
  const { reason, message, retryAfterSeconds } = error;
  if (reason === "RATE_LIMITED") return { message, status: 429, retryAfterSeconds };
  if (reason !== "CREDENTIALS_INVALID") throw error;
  return { message: "Wrong user name or password.", status: 422 };
}

interface SignIn {
  next: string;
  login: string;
  problem?: string;
  /** A further note for the user. */
  note?: string | undefined;
  status?: number;
}

async function sendSignIn(
  options: PagesOptions,
  response: Response,
  visit: Visit,
  { next, login, problem, note, status = 200 }: SignIn,
): Promise<void> {
  const app = await appOfNext(options.database, next);
  const described = problem ? html`aria-invalid="true" aria-describedby="problem"` : undefined;
  // The field that the user has to type next: after a wrong password the name is most often right.
  const focus = (isHere: boolean) => (isHere ? html`autofocus` : undefined);
  const content = html`<div class="sheet">
<h1>Sign in</h1>
<p class="quiet">${app ? html`To go on to <strong>${named(app.name)}</strong>. ` : undefined}Use your Tidings user name and password.</p>
${note ? html`<p class="note now" role="status">${note}</p>` : undefined}
${problem ? html`<p class="note bad" role="alert" id="problem">${problem}</p>` : undefined}
<form method="post" action="${CHECK_PATH}">
<input type="hidden" name="csrf" value="${visit.formToken(FORM)}">
<input type="hidden" name="next" value="${next}">
<div class="field"><label for="username">User name or email address</label>
<input id="username" name="_username" type="text" value="${login}" autocomplete="username" autocapitalize="none"
 spellcheck="false" required ${described} ${focus(login === "")}></div>
<div class="field"><label for="password">Password</label>
<input id="password" name="_password" type="password" autocomplete="current-password" required
 ${described} ${focus(login !== "")}></div>
<div class="actions wide"><button>Sign in</button></div>
</form>
<p class="quiet">Forgotten it? An administrator can give you a new one.</p>
</div>`;
  const isRefused = problem !== undefined;
  sendPage(response, { title: "Sign in", content, status, isRefused, formAction: app?.formAction });
}
