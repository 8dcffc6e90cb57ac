import { type Filter, readFilters } from "@tidings/filters/filter";
import { compileHtml, compileTemplate, type Template } from "@tidings/rendering/compile-template";
import { type HtmlLink, htmlLinks } from "@tidings/rendering/html-links";
import { htmlToText } from "@tidings/rendering/html-to-text";
import { atBodyEnd, atBodyStart } from "@tidings/rendering/in-body";
import type { NamedToken } from "@tidings/rendering/token";
import { html } from "@tidings/runtime/html";
import { inSteps, longWork } from "@tidings/runtime/long-work";
import { utmParameters } from "../family/utm-tags.ts";
import { type FieldLink, fieldLinkOf } from "../visit/field-link.ts";
import type { EmailRevision } from "./email-revision.ts";
import { type MailTexts, mailTexts, mendTexts, tokenNames, type UnreadInMember } from "./mail-texts.ts";
import { linksInText, withTrackedTextLinks } from "./text-links.ts";
import { keyOf } from "./token-addresses.ts";
import type { TrackLinks } from "./track-links.ts";

/** An attribute by which an author leaves a link as it is: `svc:disable-tracking`. */
const UNTRACKED = /(?:^|:)disable-tracking$/;
/** A host with dots before its path, query or end. */
const HOST = /^(?:[a-z0-9](?:[a-z0-9-]{0,62})\.)+[a-z]{2,24}(?=[/?#]|$)/i;
const FILE = /^[^/?#]*\.(?:html?|php|aspx?|jsp|pdf|png|jpe?g|gif)(?=[/?#]|$)/i;
const FOLLOWED = /^(?:https?|ftps?):/i;

/** An email, compiled. */
export interface MailTemplate {
  subject: Template;
  html: Template | undefined;
  text: Template;
  fromAddress: Template;
  fromName: Template;
  headers: [name: string, value: Template][];
  /** Contents that differ from contact to contact, by the name of their token. */
  contents: Map<string, DynamicContent>;
  /** The parameters that tracked links get. */
  utm: [name: string, value: string][];
  /** The fields that filters of contents ask about; empty where none has filters. */
  filteredFields: string[];
  /** The fields of contacts that all of them read. */
  contactFields: string[];
  /** Dates or times stand in one of them. */
  hasDates: boolean;
  /** The tokens of all of them, each once. */
  tokens: NamedToken[];
  /** Tokens that cannot be read: their defaults stand in the texts. */
  unread: UnreadInMember[];
}

export interface DynamicContent {
  usual: Template;
  versions: { filters: Filter[]; template: Template }[];
}

interface CompileOptions {
  /** Names of tokens whose values come with the send. */
  given: string[];
  trackLinks: TrackLinks;
  /** A picture that says that a mail was opened. */
  hasPixel: boolean;
}

/**
 * Compiles a revision. Links in HTML become `{trackedlink=<id>}`, those that are a field of the contact `{trackedfield=<id> <alias>|<default>}`; the picture stands before the end of the body, the preheader at its beginning. Throws
 * TemplateError for a text that is too large.
 */
export async function compileMail(
  revision: EmailRevision,
  { given, trackLinks, hasPixel }: CompileOptions,
): Promise<MailTemplate> {
  const names = tokenNames(given);
  const { texts, unread } = await mendTexts(mailTexts(revision), names);
  const work = longWork();
  const compile = (text: string, kind: "text" | "header") => compileTemplate(text, kind, names);
  const compileTracked = async (text: string) => {
    const links = (await inSteps(htmlLinks(text))).filter(isTracked);
    const ids = await trackLinks([...new Set(links.map(targetOf))]);
    await work.pause();
    const tracked = withTrackedLinks(text, links, ids);
    await work.pause();
    return compileHtml(tracked, names);
  };
  const body = texts.customHtml;
  const shown = body && shownHtml(body, texts.preheaderText, hasPixel);
  const contents = await compileContents(texts, compileTracked);
  const plain = texts.plainText ?? (await inSteps(htmlToText(body ?? "")));
  await work.pause();
  // A text that is made of the HTML has its links, of which some may be left as they are.
  const inHtml = texts.plainText === undefined ? await trackedIn(body ?? "") : undefined;
  const inText = linksInText(plain).filter((link) => inHtml?.has(link) ?? true);
  const text = withTrackedTextLinks(plain, await trackLinks(inText));
  const compiled = {
    subject: compile(texts.subject, "header"),
    html: shown === undefined ? undefined : await compileTracked(shown),
    text: compile(text, "text"),
    fromAddress: compile(texts.fromAddress, "header"),
    fromName: compile(texts.fromName, "header"),
    headers: texts.headers.map(([name, value]): [string, Template] => [name, compile(value, "header")]),
    contents,
  };
  const inContents = [...contents.values()].flatMap(({ usual, versions }) => [
    usual,
    ...versions.map(({ template }) => template),
  ]);
  const all = [
    ...[compiled.subject, compiled.text, compiled.fromAddress, compiled.fromName, ...inContents],
    ...(compiled.html ? [compiled.html] : []),
    ...compiled.headers.map(([, template]) => template),
  ];
  return {
    ...compiled,
    utm: utmParameters(bytesOf(revision.utmTags)),
    filteredFields: filteredIn([...contents.values()]),
    contactFields: [
      ...new Set([...all.flatMap(({ contactFields }) => contactFields), ...fieldsOfLinks(all)]),
    ],
    hasDates: all.some(({ hasDates }) => hasDates),
    tokens: [...new Map(all.flatMap(({ tokens }) => tokens).map((token) => [keyOf(token), token])).values()],
    unread,
  };
}

/** The fields that are the whole address of a tracked link. */
function fieldsOfLinks(templates: Template[]): string[] {
  return templates.flatMap(({ tokens }) =>
    tokens.flatMap(({ name, argument = "" }) =>
      name === "trackedfield" ? readFieldArgument(argument).alias : [],
    ),
  );
}

async function compileContents(
  { dynamicContent }: MailTexts,
  compile: (text: string) => Promise<Template>,
): Promise<Map<string, DynamicContent>> {
  const contents = new Map<string, DynamicContent>();
  for (const { tokenName, content, versions } of dynamicContent) {
    const compiled = await Promise.all(
      versions.map(async ({ filters, content }) => ({
        filters: readFilters(bytesOf(filters)),
        template: await compile(content),
      })),
    );
    contents.set(tokenName, { usual: await compile(content), versions: compiled });
  }
  return contents;
}

function filteredIn(contents: DynamicContent[]): string[] {
  const filters = contents.flatMap(({ versions }) => versions.flatMap((version) => version.filters));
  return [...new Set(filters.map(({ field }) => field))];
}

function bytesOf(json: unknown): Buffer {
  return Buffer.from(JSON.stringify(json));
}

/** Is a link followed by way of us? */
export function isTracked(link: HtmlLink): boolean {
  const isFollowed = FOLLOWED.test(targetOf(link)) || fieldLinkOf(link.address) !== undefined;
  return isFollowed && ![...link.attributes.keys()].some((name) => UNTRACKED.test(name));
}

/** The address that a link leads to: a host without a scheme is one of the web, as address bars read it. */
export function targetOf({ address }: Pick<HtmlLink, "address">): string {
  if (address.startsWith("//")) return `https:${address}`;
  return HOST.test(address) && !FILE.test(address) ? `http://${address}` : address;
}

/** The addresses of tracked links in HTML. */
async function trackedIn(text: string): Promise<ReadonlySet<string>> {
  const links = await inSteps(htmlLinks(text));
  return new Set(links.filter(isTracked).map(({ address }) => address));
}

/** The text with `{trackedlink=<id>}` in place of the address of each link that has an id. */
function withTrackedLinks(text: string, links: HtmlLink[], ids: ReadonlyMap<string, string>): string {
  let tracked = "";
  let from = 0;
  for (const link of links) {
    const id = ids.get(targetOf(link));
    if (id === undefined) continue;
    const isQuoted = /["']/.test(text[link.start - 1] ?? "");
    const field = fieldLinkOf(link.address);
    const token = field ? fieldToken(id, field) : `{trackedlink=${id}}`;
    tracked += text.slice(from, link.start) + (isQuoted ? token : `"${token}"`);
    from = link.end;
  }
  return tracked + text.slice(from);
}

function fieldToken(id: string, { alias, fallback }: FieldLink): string {
  return html`{trackedfield=${id} ${alias}|${fallback}}`.markup;
}

/** The link and the field of the argument of `{trackedfield=<id> <alias>|<default>}`. */
export function readFieldArgument(argument: string): FieldLink & { id: string } {
  const [, id = "", alias = "", fallback = ""] = /^(\S*) ([\w-]*)\|(.*)$/s.exec(argument) ?? [];
  return { id, alias, fallback };
}

/** The HTML of a mail: what its author wrote with the preheader, the picture, and a place for the link that machines alone follow. */
export function shownHtml(body: string, preheader: string, hasPixel: boolean): string {
  return withPreheader(hasPixel ? atBodyEnd(withPixel(body), "{scanner_trap}") : body, preheader);
}

function withPixel(body: string): string {
  if (/\{tracking_pixel\}/.test(body)) return body;
  return atBodyEnd(body, '<img height="1" width="1" src="{tracking_pixel}" alt="">');
}

/** Mail programs show it beside the subject, and not in the mail. */
function withPreheader(body: string, preheader: string): string {
  if (!preheader) return body;
  const { markup } = html`<div style="display:none;max-height:0;overflow:hidden">${preheader}</div>`;
  return atBodyStart(body, markup);
}
