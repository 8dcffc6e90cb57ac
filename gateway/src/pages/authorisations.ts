import { type Html, html, named } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import { type Authorisation, listAuthorisations, revokeAuthorisation } from "../oauth/authorisations.ts";
import { requiredId } from "../rest/path-id.ts";
import { menuOf, openMember } from "./member.ts";
import { START_PATH } from "./next.ts";
import { noticeOf, withNotice } from "./notice.ts";
import { openForm } from "./open-form.ts";
import { sendOn, sendPage } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";

const FORM = "authorisation";
const WORK_MS = 10_000;

/** The apps that the user has let in. */
export function authorisationList(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    const apps = await listAuthorisations(options.database, member.user.id, Date.now() + WORK_MS);
    const content = listContent(apps, member.visit.formToken(FORM), noticeOf(request.url));
    sendPage(response, { title: "Authorised apps", content, menu: menuOf(member, START_PATH) });
  };
}

export function authorisationRevocation(options: PagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openForm(request, response, options, { name: FORM, back: START_PATH });
    if (!member) return;
    const { visit, user } = member;
    const revocation = { user, clientId: requiredId(request.params.id), clientIp: visit.clientIp };
    await revokeAuthorisation(options.database, revocation, Date.now() + WORK_MS);
    sendOn(response, withNotice(START_PATH, "revoked"));
  };
}

function listContent(apps: Authorisation[], token: string, notice: Html | undefined): Html {
  const sheets =
    apps.length > 0
      ? html`<p class="quiet">These apps may use Tidings in your name.</p>
${apps.map((app) => authorisation(app, token))}`
      : html`<div class="sheet"><p>No app has access to your account.</p></div>`;
  return html`<h1>Authorised apps</h1>
${notice}
${sheets}`;
}

function authorisation({ clientId, clientName, since }: Authorisation, token: string): Html {
  return html`<section class="sheet bar" aria-labelledby="app-${clientId}">
<div><h2 id="app-${clientId}">${named(clientName)}</h2><span class="quiet">since ${since} UTC</span></div>
<form method="post" action="${START_PATH}/${clientId}/revoke"><input type="hidden" name="csrf" value="${token}">
<button class="danger">Revoke<span class="hidden"> ${named(clientName)}</span></button></form></section>`;
}
