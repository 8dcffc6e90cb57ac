import { html } from "./html.ts";

/** The policy of a page that has nothing but its own style. */
export const PLAIN_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A page that says one sentence to a visitor. Both texts are escaped. */
export function plainPage(title: string, text: string): string {
  const { markup } = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title}</title><style>body{font:1.1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:15vh auto;padding:0 1rem;overflow-wrap:anywhere}</style>
</head><body><main><h1>${title}</h1><p>${text}</p></main></body></html>
`;
  return markup;
}
