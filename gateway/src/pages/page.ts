import type { Actor } from "@tidings/rpc/actor";
import type { Response } from "express";
import { type Html, html } from "./html.ts";
import { STYLE, STYLE_HASH } from "./style.ts";

export interface Page {
  title: string;
  content: Html;
  /** 200 when absent. */
  status?: number;
  /** Shows the menu; without it the page stands alone, like the sign-in. */
  menu?: Menu | undefined;
  /** Where a form of the page may end besides here. */
  formAction?: string | undefined;
}

export interface Menu {
  user: Actor;
  path: string;
  signOutToken: string;
}

/** Answers with a page that loads nothing, runs nothing and cannot be framed. */
export function sendPage(response: Response, page: Page): void {
  const formAction = ["'self'", page.formAction].filter(Boolean).join(" ");
  response.setHeader(
    "content-security-policy",
    `default-src 'none'; style-src ${STYLE_HASH}; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
  );
  response.setHeader("x-frame-options", "DENY");
  // The forms need their Origin header; nothing is told to other sites.
  response.setHeader("referrer-policy", "same-origin");
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.statusCode = page.status ?? 200;
  response.end(layout(page).markup);
}

/** Sends a browser on with a GET, whatever it came with. */
export function sendOn(response: Response, location: string): void {
  response.statusCode = 303;
  response.setHeader("location", location);
  response.end();
}

function layout({ title, content, menu }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Tidings</title>
<style>${{ markup: STYLE }}</style>
</head>
<body>
${menu ? menuBar(menu) : html`<header><span class="name">Tidings</span></header>`}
<main class="${menu ? "" : "narrow"}">
${content}
</main>
</body>
</html>
`;
}

const PLACES = [
  { path: "/credentials", label: "API credentials" },
  { path: "/authorisations", label: "Authorised apps" },
];

function menuBar({ user, path, signOutToken }: Menu): Html {
  const links = PLACES.map((place) =>
    place.path === path
      ? html`<a href="${place.path}" aria-current="page">${place.label}</a>`
      : html`<a href="${place.path}">${place.label}</a>`,
  );
  return html`<header><span class="name">Tidings</span>
<nav class="actions" aria-label="Pages">${links}</nav>
<span class="who">${user.name}</span>
<form method="post" action="/sign-out"><input type="hidden" name="csrf" value="${signOutToken}">
<button class="plain">Sign out</button></form></header>`;
}
