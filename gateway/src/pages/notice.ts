import { type Html, html } from "@tidings/runtime/html";
import { queryOf } from "../rest/query.ts";

/** Notices about the action before a page was shown. The address names one of these and brings no text. */
const NOTICES = {
  deleted: "The credential was deleted. Its tokens are worth nothing any more.",
  saved: "The credential was saved.",
  revoked: "The app has no access to your account any more.",
  password: "Your password was changed. Everything that the old one had let in was signed out.",
  sessions: "You were signed out everywhere else.",
  stale: "The page was open too long, so nothing was done. Please try again.",
} as const;

export type Notice = keyof typeof NOTICES;

const NAMES = new Map(Object.entries(NOTICES));

/** Above a form that is shown again with what was typed: it had been opened in another session. */
export const STALE_FORM = html`<p class="note now" role="status">This page was open too long. Please send it again.</p>`;

/** The address of a page that is to say so. */
export function withNotice(path: string, notice: Notice): string {
  return `${path}?notice=${notice}`;
}

/** The notice of the page at this address. It has the focus, so that a screen reader reads it. */
export function noticeOf(url: string): Html | undefined {
  const { notice } = queryOf(url);
  const text = NAMES.get(String(notice));
  if (text === undefined) return undefined;
  const kind = notice === "stale" ? "bad" : "good";
  return html`<p class="note ${kind}" role="status" tabindex="-1" autofocus>${text}</p>`;
}
