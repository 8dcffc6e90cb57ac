import { type Html, html } from "@tidings/runtime/html";

interface UnsubscribePage {
  title: string;
  text: string;
  /** The button, and the path that it posts to. */
  button?: { label: string; path: string };
}

/** The policy of a page with one form. */
export const UNSUBSCRIBE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'";

const STYLE = `body{font:1.1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;overflow-wrap:anywhere;
color:#1b1b1f;background:#fff}button{font:inherit;padding:.6em 1.2em;border:1px solid #1b1b1f;border-radius:.4em;background:#1b1b1f;
color:#fff;cursor:pointer}@media(prefers-color-scheme:dark){body{color:#eee;background:#18181b}button{background:#eee;color:#18181b}}`;

/** A page with one sentence and one button. It works without script. */
export function unsubscribePage({ title, text, button }: UnsubscribePage): string {
  const form: Html | undefined =
    button &&
    html`<form method="post" action="${button.path}"><button type="submit">${button.label}</button></form>`;
  const { markup } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="robots" content="noindex">
<title>${title}</title><style>${STYLE}</style></head><body><main><h1>${title}</h1><p>${text}</p>${form}</main></body></html>
`;
  return markup;
}
