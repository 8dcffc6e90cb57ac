import type { Database } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";
import { publicPathOf } from "@tidings/rpc/public-paths";
import type { Log } from "@tidings/runtime/log";
import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import { type Request, type Response, Router } from "express";
import { chooseTranslation } from "../family/choose-translation.ts";
import { type FormInPage, type FormViewer, NOBODY } from "../form/personal-form.ts";
import type { RecordShown } from "../slot/record-shown.ts";
import { slotContents } from "../slot/slot-content.ts";
import { askedBy } from "../visit/asked.ts";
import { leadReader, readClick } from "../visit/click.ts";
import type { FieldAliases } from "../visit/field-aliases.ts";
import { type Hit, newFactId } from "../visit/hit.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { valuesOf } from "../visit/page-hit.ts";
import { type Parameters, readParameters } from "../visit/parameters.ts";
import { provenContact } from "../visit/proven-contact.ts";
import { type MayFollow, visitOfReader } from "../visit/reader-consent.ts";
import type { RecordHit } from "../visit/record-hits.ts";
import { signServed } from "../visit/served-hit.ts";
import type { Visitor } from "../visit/sighting.ts";
import { forgetChoices, keepChoice, keepDevice, keptChoice, type Visit } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { PageAddresses } from "../web/page-address.ts";
import { sandboxPolicy } from "../web/policy.ts";
import { chooseVariant, LOCALE } from "./choose-page.ts";
import { type FoundPage, type PageRow, pageFinder } from "./find-page.ts";
import { languageOf, type pageRenderer, type Seen } from "./page-html.ts";

export interface PageRouteOptions {
  database: Database;
  log: Log;
  settings: VisitSettings;
  mayFollow: MayFollow;
  recordHit: RecordHit;
  fields: FieldAliases;
  contacts: KnownContacts;
  recordShown: RecordShown;
  render: ReturnType<typeof pageRenderer>;
  addresses: PageAddresses;
  formInPage: FormInPage;
  /** No hit of an address that is no page's is kept of a browser that was never here. */
  ignoresStrangersAtNoPage: boolean;
}

/** The parameter that keeps a visitor on the page of this language. */
const NO_TRANSLATION = "ntrd";

/** Landing pages (engines.md 7.4): the last of all routes, since every other path could be the alias of a page. */
export function pageRoutes(options: PageRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  const findPage = pageFinder(options.database);
  router.get("/{*path}", async (request: Request, response: Response, next) => {
    const segments = request.path.slice(1).split("/");
    const alias = decoded(segments.at(-1) ?? "");
    if (alias === "" || publicPathOf(request.path)?.path !== "/") return next();
    const found = await findPage(alias);
    const visiting = await visitPage(options, request);
    if (found) return answer(options, response, { ...visiting, found });
    if (asksForPage(request)) await countMiss(options, response, visiting);
    next();
  });
  return router;
}

/** Did the visitor go to this address? Browsers ask for icons and pictures by themselves (Fetch Metadata, 2.1), and no address of a page has a dot. */
function asksForPage({ headers, path }: Request): boolean {
  const destination = String(headers["sec-fetch-dest"] ?? "document");
  return ["document", "iframe", "frame"].includes(destination) && !path.includes(".");
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return ""; // no page has such an alias
  }
}

interface Asking {
  request: Request;
  visit: Visit;
  parameters: Parameters;
}

interface Visiting extends Asking {
  found: FoundPage;
}

async function visitPage(options: PageRouteOptions, request: Request): Promise<Asking> {
  return { request, ...(await visitOfReader(request, await readParameters(request), options)) };
}

async function answer(options: PageRouteOptions, response: Response, visiting: Visiting): Promise<void> {
  const { page, parent } = visiting.found;
  if (!page.isOpen) return answerClosed(options, response, visiting);
  if (parent) return redirect(options, response, visiting, { status: 301, to: parent });
  if (visiting.request.path !== options.addresses.pathOf(page))
    return redirect(options, response, visiting, { status: 301, to: page });
  const translation = await translationFor(options, visiting);
  if (translation) return redirect(options, response, visiting, { status: 302, to: translation });
  await show(options, response, visiting);
}

/** The page in a language that the visitor prefers, unless they asked for this one: first the one that is known of them, then the browser's. */
async function translationFor(
  { database, settings, contacts }: PageRouteOptions,
  { request, found, parameters, visit }: Visiting,
): Promise<PageRow | undefined> {
  if (found.translations.length === 0 || parameters.has(NO_TRANSLATION)) return undefined;
  const contactId = await provenContact(database, request, settings);
  const fields = contactId === undefined ? new Map() : await contacts.fieldsOf(contactId, [LOCALE]);
  const locale = fields.get(LOCALE);
  return chooseTranslation(found.page, found.translations, [
    ...(locale ? [locale] : []),
    ...visit.browserLanguages,
  ]);
}

/** A page that is not published leads elsewhere where its author said so; else nobody may see it. */
async function answerClosed(
  options: PageRouteOptions,
  response: Response,
  visiting: Visiting,
): Promise<void> {
  const { page } = visiting.found;
  const { redirectType, redirectUrl } = page;
  const isRedirected = redirectType !== undefined && redirectUrl;
  await countPage(options, response, visiting, { page, code: isRedirected ? redirectType : 401 });
  if (isRedirected) return response.redirect(redirectType, redirectUrl);
  response.setHeader("content-security-policy", PLAIN_POLICY);
  response.status(401).type("text/html").send(plainPage("Not available", "This page is not available."));
}

async function redirect(
  options: PageRouteOptions,
  response: Response,
  visiting: Visiting,
  { status, to }: { status: number; to: PageRow },
): Promise<void> {
  await countPage(options, response, visiting, { page: visiting.found.page, code: status });
  const { publicUrl, tokens } = options.settings;
  const url = new URL(visiting.request.url, publicUrl);
  const click = readClick(tokens.click, visiting.parameters.get("ct") ?? "");
  if (click) leadReader(url, click, tokens.click);
  response.redirect(status, options.addresses.pathOf(to) + url.search);
}

async function show(options: PageRouteOptions, response: Response, visiting: Visiting): Promise<void> {
  const { database, settings, contacts, recordShown, render, addresses, formInPage } = options;
  const { found, request } = visiting;
  const page = chooseVariant(found, keptChoice(request, found.page.id, settings));
  const { hit, visitor } = await countPage(options, response, visiting, { page, code: 200 });
  if (visitor && found.variants.length > 0)
    keepChoice(response, { pageId: found.page.id, shownId: page.id }, settings);
  const contentOf = slotContents({ database, contacts }, visitor);
  const text = await render(found, page, {
    fieldsOf: async (aliases) =>
      visitor?.mayRead ? contacts.fieldsOf(visitor.contactId, aliases) : new Map(),
    async slot(name) {
      const content = await contentOf(name);
      if (content && visitor) {
        const shown = { contactId: visitor.contactId, dynamicContentId: content.id, slot: name, at: hit.at };
        await recordShown(shown, visitor.isWaiting ? hit.device?.id : undefined);
      }
      return content?.content;
    },
    form: (id, pageId) => formInPage(id, { pageId, viewer: viewerIn({ hit, visitor }) }),
    now: hit.at,
    hitToken: signServed(settings.tokens.hit, hit),
  } satisfies Seen);
  response.setHeader("content-security-policy", sandboxPolicy());
  response.setHeader("referrer-policy", "strict-origin-when-cross-origin");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("content-language", languageOf(page));
  response.setHeader("link", `<${addresses.urlOf(found.page)}>; rel="canonical"`);
  if (page.noIndex) response.setHeader("x-robots-tag", "noindex, nofollow");
  response.type("text/html").send(text);
}

/** A page may show its visitor the forms of the contact that they have proven to be. */
function viewerIn({ hit, visitor }: { hit: Hit; visitor: Visitor | undefined }): FormViewer {
  if (!visitor) return NOBODY;
  const contactId = visitor.mayRead && !visitor.isNew ? visitor.contactId : undefined;
  return { deviceId: hit.device?.id, findContact: async () => contactId };
}

/** Records the visit of a page with the status that it is answered with. */
function countPage(
  options: PageRouteOptions,
  response: Response,
  visiting: Visiting,
  { page, code }: { page: PageRow; code: number },
): Promise<{ hit: Hit; visitor: Visitor | undefined }> {
  return count(options, response, visiting, {
    pageId: page.id,
    variantParentId: page.variantParent?.id,
    page: { title: page.title, alias: page.alias, category: categoryText(page) },
    code,
    urlTitle: page.title,
    pageLanguage: page.language ?? "en",
  });
}

/** Records that somebody came to an address that is no page's (engines.md 7.4). They get the same answer where that is lost. */
async function countMiss(options: PageRouteOptions, response: Response, asking: Asking): Promise<void> {
  const { device } = asking.visit;
  if (options.ignoresStrangersAtNoPage && device?.isNew !== false) return;
  await count(options, response, asking, { code: 404, urlTitle: "", pageLanguage: "" }).catch((error) => {
    if (!isOutage(error)) options.log.error({ err: error }, "a hit was lost");
  });
}

async function count(
  { settings, recordHit, fields }: PageRouteOptions,
  response: Response,
  { request, parameters, visit }: Asking,
  answered: Pick<Hit, "pageId" | "variantParentId" | "page" | "code" | "urlTitle" | "pageLanguage">,
): Promise<{ hit: Hit; visitor: Visitor | undefined }> {
  const asked = askedBy(request, parameters, settings);
  const values = valuesOf(parameters, settings.prefix, await fields());
  const tags = parameters.get("tags") ?? "";
  const hit: Hit = { ...newFactId(visit.at), ...visit, ...asked, ...answered, values, tags };
  const visitor = await recordHit(hit);
  keepDevice(response, { visit, visitor, hitId: hit.id }, settings);
  if (!visit.device) forgetChoices(request, response, settings);
  return { hit, visitor };
}

/** The page's category as JSON; `null` without one. */
function categoryText({ category }: PageRow): string {
  return category ? Buffer.from(category.shown).toString() : "null";
}
