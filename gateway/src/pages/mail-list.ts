import { type Timestamp, timestampDate } from "@bufbuild/protobuf/wkt";
import {
  type KeptMail,
  KeptMailService,
  type ListKeptMailsResponse,
} from "@tidings/proto/tidings/content/v1/kept_mail";
import type { Outgoing } from "@tidings/rpc/client";
import { type Html, html, named } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import type { Clients } from "../clients.ts";
import { queryOf } from "../rest/query.ts";
import { type Member, menuOf, openMember } from "./member.ts";
import { MAIL_PATH } from "./next.ts";
import { sendPage } from "./page.ts";
import type { PagesOptions } from "./pages-options.ts";

export interface MailPagesOptions extends PagesOptions {
  clients: Clients;
}

const PAGE = 50;
const LENGTH_MAX = 200;
const WORK_MS = 10_000;

/** The mails that are kept in place of being sent, the latest first. Administrators see them. */
export function mailList(options: MailPagesOptions) {
  return async (request: Request, response: Response): Promise<void> => {
    const member = await openMember(request, response, options);
    if (!member) return;
    const query = queryOf(request.url);
    const asked = { search: textOf(query.search), after: textOf(query.after) };
    const mails = options.clients.of(KeptMailService);
    const found = await mails.listKeptMails({ ...asked, pageSize: PAGE }, callOf(member, response));
    const content = html`<h1>Mails</h1>
${found.isKept ? keptContent(found, asked) : sentContent(found.transport)}`;
    sendPage(response, { title: "Mails", content, menu: menuOf(member, MAIL_PATH) });
  };
}

/** A call in the name of who looks at a page. */
export function callOf({ user }: Member, response: Response): Outgoing {
  const requestId = String(response.getHeader("x-request-id"));
  return { actor: user, requestId, deadlineMs: Date.now() + WORK_MS };
}

/** The banner of both pages: an administrator is not to think that somebody got these mails. */
export const NOTHING_LEAVES = html`<p class="note now">Nothing leaves: these mails are kept as files in place of being sent.</p>`;

function textOf(value: unknown): string {
  return typeof value === "string" ? value.slice(0, LENGTH_MAX).toWellFormed() : "";
}

function sentContent(transport: string): Html {
  const how = transport
    ? html`Mails leave by <code>${transport}</code>, and none is kept to be looked at.`
    : html`No mail leaves: no transport is set up (<code>MAIL_URL</code>).`;
  return html`<div class="sheet"><p>${how}</p></div>`;
}

interface Asked {
  search: string;
  after: string;
}

function keptContent({ mails, next }: ListKeptMailsResponse, { search, after }: Asked): Html {
  const none = search
    ? html`No mail has <q>${search}</q> in its subject, sender or recipients.`
    : html`No mail was sent yet.`;
  return html`${NOTHING_LEAVES}
<form class="actions search" role="search" method="get" action="${MAIL_PATH}">
<label for="search">Subject, sender or recipient</label>
<input id="search" name="search" type="text" value="${search}" maxlength="${LENGTH_MAX}" autocomplete="off" spellcheck="false">
<button>Search</button></form>
${mails.length > 0 ? html`<ul class="cards">${mails.map(row)}</ul>` : html`<div class="sheet"><p>${none}</p></div>`}
<nav class="actions" aria-label="Pages">${after || search ? html`<a href="${MAIL_PATH}">Latest mails</a>` : undefined}
${next ? html`<a href="${MAIL_PATH}?${String(new URLSearchParams({ search, after: next }))}">Older mails</a>` : undefined}</nav>`;
}

function row({ id, subject, from, to, keptAt }: KeptMail): Html {
  return html`<li class="sheet"><h2><a href="${mailPath(id)}">${subject ? named(subject) : "(no subject)"}</a></h2>
<p>To ${named(to)}</p><p class="quiet">From ${named(from)}, ${timeOf(keptAt)}</p></li>`;
}

function mailPath(id: string): string {
  return `${MAIL_PATH}/${encodeURIComponent(id)}`;
}

export function timeOf(time: Timestamp | undefined): Html {
  const text = time ? timestampDate(time).toISOString() : "";
  return html`<time datetime="${text}">${text.slice(0, 19).replace("T", " ")} UTC</time>`;
}
