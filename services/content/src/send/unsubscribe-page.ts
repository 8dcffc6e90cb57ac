import { type Html, html } from "@tidings/runtime/html";

/** A button, and the path that it posts to. */
export interface Button {
  label: string;
  path: string;
}

interface UnsubscribePage {
  title: string;
  text: string;
  button?: Button;
  /** The markup of a form that the email names. */
  form?: string | undefined;
}

/** The policy of a page with forms and no script. */
export const UNSUBSCRIBE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

/** The same for a page with a form of an author, which may lead to another site and show pictures. Its scripts do not run. */
export const UNSUBSCRIBE_FORM_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src *; base-uri 'none'; form-action *; frame-ancestors 'none'";

const STYLE = `body{font:1.1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:8vh auto;padding:0 1rem;overflow-wrap:anywhere;
color:#1b1b1f;background:#fff}button{font:inherit;padding:.6em 1.2em;border:1px solid #1b1b1f;border-radius:.4em;background:#1b1b1f;
color:#fff;cursor:pointer}fieldset{border:1px solid #767680;border-radius:.4em;margin:1em 0;padding:.6em 1em;min-width:0}
input,select{font:inherit;max-width:100%;box-sizing:border-box}label{display:inline-block;margin:.2em 0}.problem{color:#a40000;font-weight:600}
@media(prefers-color-scheme:dark){body{color:#eee;background:#18181b}button{background:#eee;color:#18181b}.problem{color:#ff9c9c}:root{color-scheme:dark}}`;

/** A page with one sentence, one button, and the form where there is one. It works without script. */
export function unsubscribePage({ title, text, button, form }: UnsubscribePage): string {
  const shown = form === undefined ? undefined : html`<section>${{ markup: form }}</section>`;
  return readerPage(title, html`<p>${text}</p>${button && buttonForm(button)}${shown}`);
}

export function buttonForm({ path, label }: Button): Html {
  return html`<form method="post" action="${path}"><button type="submit">${label}</button></form>`;
}

/** A page for the reader of a mail, under UNSUBSCRIBE_POLICY. */
export function readerPage(title: string, content: Html): string {
  const { markup } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${title}</title><style>${STYLE}</style></head><body><main><h1>${title}</h1>${content}</main></body></html>
`;
  return markup;
}
