import type { Database } from "@tidings/database/database";
import { compileTemplate, type Template } from "@tidings/rendering/compile-template";
import type { NamedToken } from "@tidings/rendering/token";
import { type Html, html } from "@tidings/runtime/html";
import { LRUCache } from "lru-cache";
import type { FormInPage } from "../form/personal-form.ts";
import type { ThemeHtml } from "../theme/theme-html.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { aliasOf, type FoundPage, type PageRow } from "./find-page.ts";

/** The tokens of landing pages beside the fields of contacts (engines.md 7.4). */
const NAMES = new Set(
  `pagelink assetlink form dwc dynamiccontent langbar sharebuttons pagetitle pagemetadescription`.split(" "),
);
const COMPILED_MAX = 200;
const PAGE_LENGTH_MAX = 8_000_000;

export interface PageParts {
  database: Database;
  settings: VisitSettings;
  theme: ThemeHtml;
  /** The address of an asset. */
  assetAddress(id: number): Promise<string | undefined>;
  formMarkup: FormInPage;
}

/** The visitor who sees the page. */
export interface Seen {
  /** Values of these fields of the visitor; none of one who is not known. */
  fieldsOf(aliases: string[]): Promise<ReadonlyMap<string, string>>;
  /** The content of a slot for the visitor. */
  slot(name: string): Promise<string | undefined>;
  timeZone: string;
  now: number;
  /** The signed id of the hit that this is; undefined for a preview. */
  hitToken: string | undefined;
  /** The signed id of the browser, where that may be known. */
  deviceToken: string | undefined;
}

/** Renders pages. The template of each version is compiled once. */
export function pageRenderer(parts: PageParts) {
  const compiled = new LRUCache<string, Template>({ max: COMPILED_MAX });
  const templateOf = (page: PageRow): Template => {
    const key = `${page.id} ${page.version}`;
    const known = compiled.get(key);
    if (known) return known;
    const template = compileTemplate(page.customHtml ?? "", "html", NAMES);
    compiled.set(key, template);
    return template;
  };
  return async (found: FoundPage, page: PageRow, seen: Seen): Promise<string> => {
    const template = templateOf(page);
    const [values, fields] = await Promise.all([
      valuesOf(template.tokens, { parts, found, page, seen }),
      seen.fieldsOf(template.contactFields),
    ]);
    const dates = { now: seen.now, timeZone: seen.timeZone, locale: page.language || "en" };
    const content = template.render({
      contactFields: fields,
      valueOf: ({ name, argument }) => values.get(`${name} ${argument ?? ""}`),
      dates,
      lengthMax: PAGE_LENGTH_MAX,
    });
    const whole = isDocument(content) ? content : await inTheme(parts, page, content, dates);
    return withHead(whole, headOf(parts.settings, page, seen));
  };
}

interface Rendering {
  parts: PageParts;
  found: FoundPage;
  page: PageRow;
  seen: Seen;
}

/** All values that a page needs, looked up at the same time. */
async function valuesOf(
  tokens: NamedToken[],
  rendering: Rendering,
): Promise<Map<string, string | Html | undefined>> {
  const entries = tokens.map(
    async (token) => [`${token.name} ${token.argument ?? ""}`, await tokenValue(token, rendering)] as const,
  );
  return new Map(await Promise.all(entries));
}

async function tokenValue(
  { name, argument = "" }: NamedToken,
  { parts, found, page, seen }: Rendering,
): Promise<string | Html | undefined> {
  const { database, settings } = parts;
  switch (name) {
    case "pagetitle":
      return page.title;
    case "pagemetadescription":
      return page.metaDescription ?? "";
    case "pagelink": {
      const alias = isId(argument) ? await aliasOf(database, Number(argument)) : undefined;
      return alias && new URL(`/${alias}`, settings.publicUrl).href;
    }
    case "assetlink":
      return isId(argument) ? parts.assetAddress(Number(argument)) : undefined;
    case "form": {
      const markup = isId(argument)
        ? await parts.formMarkup(Number(argument), { pageId: page.id, deviceToken: seen.deviceToken })
        : undefined;
      return markup === undefined ? undefined : { markup };
    }
    case "dwc": {
      const content = await seen.slot(argument);
      return content === undefined ? undefined : { markup: content };
    }
    case "langbar":
      return languageBar(found, settings.publicUrl);
    case "sharebuttons":
      return shareButtons(page, settings.publicUrl);
    default:
      return undefined;
  }
}

function isId(text: string): boolean {
  return /^[1-9]\d{0,9}$/.test(text);
}

function languageBar({ page, translations }: FoundPage, publicUrl: string): Html {
  const links = [page, ...translations].map(({ id, alias, language }) => {
    const word = (language || "en").replaceAll("_", "-");
    const name = nameOfLanguage(word);
    const url = `${new URL(`/${alias}`, publicUrl).href}?ntrd=1`;
    return id === page.id
      ? html`<li><span lang="${word}" aria-current="page">${name}</span></li>`
      : html`<li><a href="${url}" hreflang="${word}" lang="${word}">${name}</a></li>`;
  });
  return html`<ul class="page-languages">${links}</ul>`;
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
function shareButtons({ alias, title }: PageRow, publicUrl: string): Html {
  const url = new URL(`/${alias}`, publicUrl).href;
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

async function inTheme(
  { theme }: PageParts,
  page: PageRow,
  content: string,
  dates: { now: number; timeZone: string; locale: string },
): Promise<string> {
  const template = await theme(page.template ?? "", "page");
  return template.render({
    contactFields: new Map(),
    valueOf: ({ name }) => {
      if (name === "pagetitle") return page.title;
      return name === "content" ? { markup: content } : undefined;
    },
    dates,
    lengthMax: PAGE_LENGTH_MAX,
  });
}

/** The page's description, and the script that completes its hit. */
function headOf({ publicUrl, prefix }: VisitSettings, page: PageRow, { hitToken }: Seen): string {
  const description = page.metaDescription
    ? html`<meta name="description" content="${page.metaDescription}">`
    : undefined;
  const robots = page.noIndex ? html`<meta name="robots" content="noindex, nofollow">` : undefined;
  const script = html`<script src="${new URL("/mtc.js", publicUrl).href}" async></script>`;
  const hit =
    hitToken === undefined
      ? undefined
      : html`<meta name="${prefix}-hit" content="${hitToken}">
<script>window.TidingsTrackingObject="mt";window.mt=window.mt||function(){(mt.q=mt.q||[]).push(arguments)};mt("send","pageview")</script>
${script}`;
  return html`${description}${robots}${hit}`.markup;
}

/** At the end of the head, where the page has one. */
function withHead(document: string, head: string): string {
  if (head === "") return document;
  const at = document.search(/<\/head\s{0,20}>/i);
  if (at >= 0) return document.slice(0, at) + head + document.slice(at);
  const body = document.search(/<body[\s>]/i);
  return body >= 0 ? document.slice(0, body) + head + document.slice(body) : document + head;
}
