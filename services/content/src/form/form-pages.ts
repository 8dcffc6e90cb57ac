import { randomUUID } from "node:crypto";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { latinWord } from "@tidings/resource/field-word";
import { html } from "@tidings/runtime/html";
import type { Response } from "express";
import type { ThemeHtml } from "../theme/theme-html.ts";
import { sandboxPolicy } from "../web/policy.ts";
import { setPreviewHeaders } from "../web/preview.ts";
import { type FormShown, formHtml } from "./html.ts";

const PAGE_LENGTH_MAX = 5_000_000;
const NONCE_POLICY = "default-src 'none'; frame-ancestors *";

export interface FormPages {
  theme: ThemeHtml;
  /** The address of the script that forms have. */
  scriptUrl: string;
}

/** A form with all that this visitor filled in, and a key of its own. */
export function shownForm(form: Form, shown: FormShown): string {
  return formHtml(form, { submissionKey: randomUUID(), ...shown });
}

/** A form, or a message about it, as a page in the form's theme. */
export async function sendFormPage(
  response: Response,
  { theme, scriptUrl }: FormPages,
  { form, status = 200, message = "", markup = "", styles = [], download, isPreview = false }: FormPage,
): Promise<void> {
  const template = await theme(form.template ?? "", "form");
  const links = styles.map((href) => html`<link rel="stylesheet" href="${href}">`);
  const robots = form.noIndex ? html`<meta name="robots" content="noindex">` : html``;
  const script = markup === "" || isPreview ? html`` : html`<script src="${scriptUrl}" defer></script>`;
  const text = template.render({
    contactFields: new Map(),
    valueOf: ({ name }) => {
      if (name === "pagetitle") return form.name;
      if (name === "message") return { markup: message };
      return name === "content" ? { markup: `${markup}${script.markup}` } : undefined;
    },
    dates: { now: Date.now(), timeZone: "UTC", locale: form.language || "en" },
    lengthMax: PAGE_LENGTH_MAX,
  });
  const head = [robots, ...links].map((part) => part.markup).join("");
  response.setHeader("content-security-policy", sandboxPolicy());
  if (form.noIndex) response.setHeader("x-robots-tag", "noindex");
  if (download !== undefined) response.setHeader("refresh", `1; url=${download}`);
  if (isPreview) setPreviewHeaders(response);
  response
    .status(status)
    .type("text/html")
    .send(
      withLanguage(
        text.replace(/<\/head>/i, () => `${head}</head>`),
        form,
      ),
    );
}

export interface FormPage {
  form: Form;
  status?: number;
  /** HTML. */
  message?: string;
  /** The form itself, as HTML. */
  markup?: string;
  /** Addresses of more stylesheets. */
  styles?: string[];
  /** The address of a file whose download the page begins. */
  download?: string;
  /** The form cannot be sent from this page. */
  isPreview?: boolean;
}

function withLanguage(text: string, { language }: Form): string {
  const word = /^[a-z]{2,3}(?:[-_][a-z0-9]{2,8})?$/i.test(language ?? "")
    ? (language ?? "en").replace("_", "-")
    : "en";
  return text.replace(/<html lang="en"/, `<html lang="${word}"`);
}

/** The frame of the form is see-through: the video stays visible behind it. */
const OVER_VIDEO = html`<style>html, body { background: transparent; margin: 0; }</style>`;

/**
 * The form alone, to stand in a frame of another page. Over a video, its script lets that page know when the form was taken, and no more: the player
 * goes on (engines.md 5.1).
 */
export function sendEmbedded(
  response: Response,
  { scriptUrl }: Pick<FormPages, "scriptUrl">,
  { form, markup, isOverVideo }: { form: Form; markup: string; isOverVideo: boolean },
): void {
  const style = isOverVideo ? OVER_VIDEO : html``;
  const page = html`<!doctype html><html lang="en"${isOverVideo ? html` data-over-video` : html``}><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${form.name}</title>${style}</head>
<body>${{ markup }}<script src="${scriptUrl}" defer></script></body></html>`;
  response.setHeader("content-security-policy", sandboxPolicy("*"));
  response.type("text/html").send(withLanguage(page.markup, form));
}

/** JSON for the window that the form is in: the page that is answered in a hidden frame hands it on (HTML, 9.3 postMessage). */
export function sendToParent(response: Response, answer: object, target: string): void {
  const nonce = randomUUID();
  response.setHeader("content-security-policy", `${NONCE_POLICY}; script-src 'nonce-${nonce}'`);
  response
    .type("text/html")
    .send(
      `<!doctype html><meta charset="utf-8"><script nonce="${nonce}">parent.postMessage(JSON.stringify(${literal(answer)}), ${literal(target)});</script>`,
    );
}

/** The script that puts the form where it was included (engines.md 5.1). */
export function insertingScript(form: Form, markup: string, script: string): string {
  const word = latinWord(form.name, 40) || String(form.id);
  return `(function(){var s=document.currentScript,d=document.createElement("div");d.setAttribute("data-form",${literal(word)});d.innerHTML=${literal(markup)};s.parentNode.insertBefore(d,s.nextSibling);})();
${script}`;
}

/** A value as a script within a page may hold it. */
function literal(value: unknown): string {
  return JSON.stringify(value)
    .replaceAll("<", "\\u003c")
    .replaceAll("\u2028", "\\u2028")
    .replaceAll("\u2029", "\\u2029");
}
