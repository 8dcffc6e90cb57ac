import type { Actor } from "@tidings/rpc/actor";
import { type Html, html, named } from "@tidings/runtime/html";
import type { Response } from "express";
import { STYLE, STYLE_HASH } from "./style.ts";

export interface Page {
  title: string;
  content: Html;
  /** 200 when absent, 422 when something is wrong with what was filled in. */
  status?: number;
  /** A form that is shown again because something in it is wrong, which its title says first. */
  isRefused?: boolean;
  /** Shows the menu; without it the page stands alone, like the sign-in. */
  menu?: Menu | undefined;
  /** Where a form of the page may end besides here. */
  formAction?: string | undefined;
  /** The origin of a frame that the page shows. */
  frameOrigin?: string | undefined;
}

export interface Menu {
  user: Actor;
  path: string;
  places: { path: string; label: string }[];
  signOutToken: string;
}

/** Answers with a page that loads nothing but its frame, runs nothing and cannot be framed. */
export function sendPage(response: Response, page: Page): void {
  const formAction = ["'self'", page.formAction].filter(Boolean).join(" ");
  const frames = page.frameOrigin === undefined ? "" : ` frame-src ${page.frameOrigin};`;
  response.setHeader(
    "content-security-policy",
    `default-src 'none'; img-src data:;${frames} style-src ${STYLE_HASH}; form-action ${formAction}; frame-ancestors 'none'; base-uri 'none'`,
  );
  response.setHeader("x-frame-options", "DENY");
  // The forms need their Origin header; other sites receive no referrer.
  response.setHeader("referrer-policy", "same-origin");
  response.setHeader("Content-Type", "text/html; charset=utf-8");
  response.statusCode = page.status ?? (page.isRefused ? 422 : 200);
  response.end(layout(page).markup);
}

/** Sends a browser on with a GET, whatever it came with. */
export function sendOn(response: Response, location: string): void {
  response.statusCode = 303;
  response.setHeader("location", location);
  response.end();
}

function layout({ title, content, menu, isRefused }: Page): Html {
  return html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${isRefused ? "Error: " : ""}${title} · Tidings</title>
<link rel="icon" href="${ICON}">
<style>${{ markup: STYLE }}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the page</a>
${menu ? menuBar(menu) : html`<header><a class="name" href="/">Tidings</a></header>`}
<main id="main" class="${menu ? "" : "narrow"}">
${content}
</main>
</body>
</html>
`;
}

/** An envelope in the colours of the pages; nothing has to be fetched for it. */
const ICON =
  "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 32 32'%3E%3Crect width='32' height='32' rx='7' fill='%233d45c4'/%3E%3Cpath d='M7 11h18v11H7zl9 7 9-7' fill='none' stroke='%23fff' stroke-width='2'/%3E%3C/svg%3E";

function menuBar({ user, path, places, signOutToken }: Menu): Html {
  const links = places.map((place) =>
    place.path === path
      ? html`<a href="${place.path}" aria-current="page">${place.label}</a>`
      : html`<a href="${place.path}">${place.label}</a>`,
  );
  return html`<header><a class="name" href="/">Tidings</a>
<nav class="actions" aria-label="Main">${links}</nav>
<span class="who">${named(user.name)}</span>
<form method="post" action="/sign-out"><input type="hidden" name="csrf" value="${signOutToken}">
<button class="link">Sign out</button></form></header>`;
}
