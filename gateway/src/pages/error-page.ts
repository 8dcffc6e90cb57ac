import { toFault } from "@tidings/rpc/fault";
import { type Html, html } from "@tidings/runtime/html";
import type { Request, Response } from "express";
import type { ErrorEntry } from "../rest/error.ts";
import { menuOf } from "./member.ts";
import { START_PATH } from "./next.ts";
import { sendPage } from "./page.ts";
import { openVisit, type VisitOptions } from "./visit.ts";

/** Is the answer for somebody in a browser, where errors are pages? Programs at the token endpoint get JSON whatever they say. */
export function wantsPage(request: Request): boolean {
  const isForPrograms = /^\/(?:api|oauth\/v2\/(?:token|revoke))(?:\/|$)/.test(request.path);
  return !isForPrograms && request.accepts(["json", "html"]) === "html";
}

interface Told {
  title: string;
  message: string;
}

/** Texts for people, by reason; the message of any other fault was written for people where it was thrown. */
const BY_REASON = new Map<string, Told>([
  [
    "PERMISSION_DENIED",
    { title: "No access", message: "Your role does not allow this. Ask an administrator." },
  ],
  ["METHOD_NOT_ALLOWED", { title: "Not found", message: "There is no such page." }],
  ["NOT_FOUND", { title: "Not found", message: "There is no such page, or it is gone." }],
  ["RATE_LIMITED", { title: "Too many requests", message: "Please wait a minute and try again." }],
  [
    "BODY_UNREADABLE",
    { title: "This form could not be read", message: "Please open its page again and send it from there." },
  ],
  [
    "BODY_TOO_LARGE",
    { title: "Too much at once", message: "The form holds more than can be taken. Send less." },
  ],
  [
    "API_DISABLED",
    { title: "Switched off", message: "The API and its pages are switched off. Ask an administrator." },
  ],
  ["FOREIGN_FORM", { title: "This page is out of date", message: "" }],
]);

const BUSY = { title: "Not available at the moment", message: "Please try again in a moment." };
const BROKEN = {
  title: "Something went wrong",
  message: "It was written down. Please tell the administrator if it happens again.",
};

function toldOf(error: unknown, { code, message }: ErrorEntry): Told {
  const { reason } = toFault(error);
  const told = BY_REASON.get(reason);
  if (told) return { ...told, message: told.message || message };
  if (code === 503 || code === 504) return BUSY;
  if (code >= 500) return BROKEN;
  return { title: code === 404 ? "Not found" : "This cannot be done", message };
}

/** An error as a page. A signed-in user keeps the menu, if the session can be read now. */
export async function sendErrorPage(
  request: Request,
  response: Response,
  { error, entry }: { error: unknown; entry: ErrorEntry },
  options: VisitOptions,
): Promise<void> {
  const { title, message } = toldOf(error, entry);
  const visit =
    entry.code < 500 ? await openVisit(request, response, options).catch(() => undefined) : undefined;
  const menu = visit?.user && menuOf({ visit, user: visit.user }, "");
  const content = html`<div class="sheet"><h1>${title}</h1><p>${message}</p>
${entry.code >= 500 ? retry(request, response) : undefined}
<p><a href="${START_PATH}">Go to ${menu ? "Authorised apps" : "the sign-in"}</a></p></div>`;
  sendPage(response, { title, content, status: entry.code, menu });
}

function retry(request: Request, response: Response): Html {
  const again =
    request.method === "GET" ? html`<p><a href="${request.originalUrl}">Try again</a></p>` : undefined;
  return html`<p class="quiet">Reference: <code>${String(response.getHeader("x-request-id") ?? "")}</code></p>${again}`;
}
