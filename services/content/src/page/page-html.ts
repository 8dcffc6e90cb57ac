import { compileHtml, type Template } from "@tidings/rendering/compile-template";
import type { NamedToken } from "@tidings/rendering/token";
import { type Html, html } from "@tidings/runtime/html";
import { slices } from "@tidings/runtime/slices";
import { madeOnce } from "../send/made-once.ts";
import { PREFERENCE_SLOTS } from "../send/preference-parts.ts";
import type { ThemeHtml } from "../theme/theme-html.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { PageAddresses } from "../web/page-address.ts";
import { rowIdOf } from "../web/row-id.ts";
import type { FoundPage, PageRow } from "./find-page.ts";

/** The tokens of landing pages beside the fields of contacts (engines.md 7.4). */
const NAMES = new Set([
  ...`pagelink assetlink form dwc dynamiccontent langbar sharebuttons pagetitle pagemetadescription leadidentifier`.split(
    " ",
  ),
  ...Object.keys(PREFERENCE_SLOTS),
]);
/** The field of a contact with the time zone in which dates are written. */
const TIME_ZONE = "timezone";
const COMPILED_MAX = 200;
const VALUES_AT_ONCE = 100;
const PAGE_LENGTH_MAX = 8_000_000;

export interface PageParts {
  settings: VisitSettings;
  theme: ThemeHtml;
  addresses: PageAddresses;
  /** The address of an asset. */
  assetAddress(id: number): Promise<string | undefined>;
}

/** The visitor who sees the page. */
export interface Seen {
  /** Values of these fields of the visitor; none of one who is not known. */
  fieldsOf(aliases: string[]): Promise<ReadonlyMap<string, string>>;
  /** The content of a slot for the visitor. */
  slot(name: string): Promise<string | undefined>;
  /** A form as it stands in this page for the visitor; undefined for one that takes nothing then. */
  form(id: string, pageId: number): Promise<string | undefined>;
  /** A part of the preference centre that this page is for its reader; absent on any other page. */
  preferencePart?: (token: string) => Html | undefined;
  now: number;
  /** The signed id of the hit that this is; undefined for a preview. */
  hitToken: string | undefined;
}

/** The HTML of a page, compiled. Throws TemplateError for one that is too large. */
export function compilePage(customHtml: string): Promise<Template> {
  return compileHtml(customHtml, NAMES);
}

/** Renders pages. The template of each version is compiled once. */
export function pageRenderer(parts: PageParts) {
  const once = madeOnce<Template>(COMPILED_MAX);
  const templateOf = (page: PageRow) =>
    once(`${page.id} ${page.version}`, () => compilePage(page.customHtml ?? ""));
  return async (found: FoundPage, page: PageRow, seen: Seen): Promise<string> => {
    const rendering = { parts, found, page, seen };
    const content = await rendered(await templateOf(page), rendering);
    const whole = isDocument(content)
      ? content
      : await rendered(await parts.theme(page.template ?? "", "page"), rendering, content);
    return withHead(whole, headOf(rendering));
  };
}

interface Rendering {
  parts: PageParts;
  found: FoundPage;
  page: PageRow;
  seen: Seen;
}

/** The text of a page, or of its theme, in which the page stands as `content`. */
async function rendered(template: Template, rendering: Rendering, content?: string): Promise<string> {
  const { page, seen } = rendering;
  const [values, contactFields] = await Promise.all([
    valuesOf(template.tokens, rendering),
    seen.fieldsOf([...template.contactFields, ...(template.hasDates ? [TIME_ZONE] : [])]),
  ]);
  return template.render({
    contactFields,
    valueOf: ({ name, argument }) =>
      name === "content" && content !== undefined
        ? { markup: content }
        : (values.get(`${name} ${argument ?? ""}`) ?? seen.preferencePart?.(name)),
    dates: {
      now: seen.now,
      timeZone: contactFields.get(TIME_ZONE) || "UTC",
      locale: page.language || "en",
    },
    lengthMax: PAGE_LENGTH_MAX,
  });
}

/** All values that a page needs, some looked up at the same time. */
async function valuesOf(
  tokens: NamedToken[],
  rendering: Rendering,
): Promise<Map<string, string | Html | undefined>> {
  const values = new Map<string, string | Html | undefined>();
  for (const slice of slices(tokens, VALUES_AT_ONCE))
    await Promise.all(
      slice.map(async (token) =>
        values.set(`${token.name} ${token.argument ?? ""}`, await tokenValue(token, rendering)),
      ),
    );
  return values;
}

async function tokenValue(
  { name, argument = "" }: NamedToken,
  { parts, found, page, seen }: Rendering,
): Promise<string | Html | undefined> {
  const { addresses } = parts;
  switch (name) {
    case "pagetitle":
      return page.title;
    case "pagemetadescription":
      return page.metaDescription ?? "";
    case "pagelink":
      return addresses.find(argument);
    case "assetlink": {
      const id = rowIdOf(argument);
      return id === undefined ? undefined : parts.assetAddress(id);
    }
    case "form": {
      const markup = await seen.form(argument, page.id);
      return markup === undefined ? undefined : { markup };
    }
    // A page has no contents of its own, as an email has: both tokens name a slot.
    case "dynamiccontent":
    case "dwc": {
      const content = await seen.slot(argument);
      return content === undefined ? undefined : { markup: content };
    }
    case "leadidentifier":
      return seen.preferencePart && (await seen.fieldsOf(["email"])).get("email");
    case "langbar":
      return languageBar(found, addresses);
    case "sharebuttons":
      return shareButtons(page.title, addresses.urlOf(found.page));
    default:
      return undefined;
  }
}

function languageBar({ page, translations }: FoundPage, addresses: PageAddresses): Html {
  const links = [page, ...translations].map((shown) => {
    const word = languageOf(shown);
    const name = nameOfLanguage(word);
    const url = `${addresses.urlOf(shown)}?ntrd=1`;
    return shown.id === page.id
      ? html`<li><span lang="${word}" aria-current="page">${name}</span></li>`
      : html`<li><a href="${url}" hreflang="${word}" lang="${word}">${name}</a></li>`;
  });
  return html`<ul class="page-languages">${links}</ul>`;
}

/** The language of a page as HTML has it. */
export function languageOf({ language }: PageRow): string {
  return (language || "en").replaceAll("_", "-");
}

function nameOfLanguage(word: string): string {
  try {
    return new Intl.DisplayNames([word], { type: "language" }).of(word) ?? word;
  } catch {
    return word; // no language tag (RFC 5646)
  }
}

/** Places where people share pages, by the parameter that they take the address in. */
const SHARED_AT: [name: string, url: string][] = [
  ["Facebook", "https://www.facebook.com/sharer/sharer.php?u="],
  ["LinkedIn", "https://www.linkedin.com/sharing/share-offsite/?url="],
  ["X", "https://x.com/intent/post?url="],
];

/** Links, and nothing that is loaded from anywhere. */
function shareButtons(title: string, url: string): Html {
  const links = SHARED_AT.map(
    ([name, target]) =>
      html`<li><a href="${target + encodeURIComponent(url)}" target="_blank" rel="noopener noreferrer">${name}</a></li>`,
  );
  const mail = `mailto:?subject=${encodeURIComponent(title)}&body=${encodeURIComponent(url)}`;
  return html`<ul class="page-share">${links}<li><a href="${mail}">E-mail</a></li></ul>`;
}

function isDocument(content: string): boolean {
  return /^\s{0,100}(?:<!--[^>]{0,1000}-->\s{0,100})?<(?:!doctype|html)[\s>]/i.test(content);
}

/** The head members by which programs understand the page, and the script that completes its hit. */
function headOf({ parts: { settings, addresses }, found, page, seen: { hitToken } }: Rendering): string {
  const { publicUrl, prefix } = settings;
  const description = page.metaDescription
    ? html`<meta name="description" content="${page.metaDescription}">`
    : undefined;
  const robots = page.noIndex ? html`<meta name="robots" content="noindex, nofollow">` : undefined;
  const canonical = html`<link rel="canonical" href="${addresses.urlOf(found.page)}">`;
  const translations = found.translations.map(
    (other) => html`<link rel="alternate" hreflang="${languageOf(other)}" href="${addresses.urlOf(other)}">`,
  );
  const script = html`<script src="${new URL("/mtc.js", publicUrl).href}" async></script>`;
  const hit =
    hitToken === undefined
      ? undefined
      : html`<meta name="${prefix}-hit" content="${hitToken}">
<script>window.TidingsTrackingObject="mt";window.mt=window.mt||function(){(mt.q=mt.q||[]).push(arguments)};mt("send","pageview")</script>
${script}`;
  return html`${description}${robots}${canonical}${translations}${hit}`.markup;
}

/** At the end of the head, where the page has one. */
function withHead(document: string, head: string): string {
  if (head === "") return document;
  const at = document.search(/<\/head\s{0,20}>/i);
  if (at >= 0) return document.slice(0, at) + head + document.slice(at);
  const body = document.search(/<body[\s>]/i);
  return body >= 0 ? document.slice(0, body) + head + document.slice(body) : document + head;
}
