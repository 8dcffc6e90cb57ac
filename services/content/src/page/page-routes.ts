import type { Database } from "@tidings/database/database";
import { publicPathOf } from "@tidings/rpc/public-paths";
import { PLAIN_POLICY, plainPage } from "@tidings/runtime/plain-page";
import { parseCookie, stringifySetCookie } from "cookie";
import { type Request, type Response, Router } from "express";
import type { Shown } from "../slot/record-shown.ts";
import { slotContent } from "../slot/slot-content.ts";
import { askedBy } from "../visit/asked.ts";
import { type Hit, newFactId } from "../visit/hit.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { type Parameters, readParameters } from "../visit/parameters.ts";
import { provenContact } from "../visit/proven-contact.ts";
import type { RecordHit } from "../visit/record-hits.ts";
import { keepDevice, signDevice, type Visit, visitOf } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { Visitor } from "../visit/visitors.ts";
import { sandboxPolicy } from "../web/policy.ts";
import { chooseTranslation, chooseVariant } from "./choose-page.ts";
import { type FoundPage, type PageRow, pageFinder } from "./find-page.ts";
import type { pageRenderer, Seen } from "./page-html.ts";

export interface PageRouteOptions {
  database: Database;
  settings: VisitSettings;
  recordHit: RecordHit;
  contacts: KnownContacts;
  recordShown: (shown: Shown) => Promise<void>;
  render: ReturnType<typeof pageRenderer>;
}

const CHOICE_SECONDS = 14 * 86_400;
const LOCALE = "preferred_locale";
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
    if (!found) return next();
    const visiting = await visitPage(options, request, found);
    if (segments.length > 1) return redirect(options, response, visiting, 301, found.page.alias);
    await answer(options, response, visiting);
  });
  return router;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return ""; // no page has such an alias
  }
}

interface Visiting {
  request: Request;
  found: FoundPage;
  visit: Visit;
  parameters: Parameters;
}

async function visitPage(
  { settings }: PageRouteOptions,
  request: Request,
  found: FoundPage,
): Promise<Visiting> {
  const parameters = await readParameters(request);
  return { request, found, parameters, visit: visitOf(request, parameters, settings) };
}

async function answer(options: PageRouteOptions, response: Response, visiting: Visiting): Promise<void> {
  const { page, parent } = visiting.found;
  if (!page.isOpen) return answerClosed(options, response, visiting);
  if (parent) return redirect(options, response, visiting, 301, parent.alias);
  const translation = await translationFor(options, visiting);
  if (translation) return redirect(options, response, visiting, 302, translation.alias);
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
  return chooseTranslation(found, [...(locale ? [locale] : []), ...visit.browserLanguages]);
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
  await count(options, response, visiting, page, isRedirected ? redirectType : 401);
  if (isRedirected) return response.redirect(redirectType, redirectUrl);
  response.setHeader("content-security-policy", PLAIN_POLICY);
  response.status(401).type("text/html").send(plainPage("Not available", "This page is not available."));
}

async function redirect(
  options: PageRouteOptions,
  response: Response,
  visiting: Visiting,
  status: number,
  alias: string,
): Promise<void> {
  await count(options, response, visiting, visiting.found.page, status);
  const { search } = new URL(visiting.request.url, options.settings.publicUrl);
  response.redirect(status, `/${encodeURIComponent(alias)}${search}`);
}

async function show(options: PageRouteOptions, response: Response, visiting: Visiting): Promise<void> {
  const { database, settings, contacts, recordShown, render } = options;
  const { found, request } = visiting;
  const cookie = `${settings.prefix}_page_${found.page.id}`;
  const before = Number(parseCookie(request.headers.cookie ?? "")[cookie]);
  const page = chooseVariant(found, Number.isInteger(before) ? before : undefined);
  const { hit, visitor } = await count(options, response, visiting, page, 200);
  if (visitor && found.variants.length > 0)
    response.appendHeader("set-cookie", choiceCookie(cookie, page, settings));
  const text = await render(found, page, {
    fieldsOf: async (aliases) =>
      visitor?.isProven ? contacts.fieldsOf(visitor.contactId, aliases) : new Map(),
    async slot(name) {
      const content = await slotContent({ database, contacts }, name, visitor);
      if (content && visitor)
        await recordShown({ contactId: visitor.contactId, dynamicContentId: content.id, slot: name });
      return content?.content;
    },
    timeZone: "UTC",
    now: hit.at,
    hitToken: settings.tokens.hit.sign(hit.id),
    deviceToken: visitor && hit.device && signDevice(hit.device.id, settings),
  } satisfies Seen);
  response.setHeader("content-security-policy", sandboxPolicy());
  response.setHeader("referrer-policy", "strict-origin-when-cross-origin");
  response.setHeader("cross-origin-opener-policy", "same-origin");
  response.setHeader("content-language", (page.language || "en").replaceAll("_", "-"));
  if (page.noIndex) response.setHeader("x-robots-tag", "noindex, nofollow");
  response.type("text/html").send(text);
}

/** Records the visit with the status that it is answered with. */
async function count(
  { settings, recordHit }: PageRouteOptions,
  response: Response,
  { request, parameters, visit }: Visiting,
  page: PageRow,
  code: number,
): Promise<{ hit: Hit; visitor: Visitor | undefined }> {
  const hit: Hit = {
    ...newFactId(),
    ...visit,
    ...askedBy(request, parameters, settings),
    pageId: page.id,
    variantParentId: page.variantParent?.id,
    page: { title: page.title, alias: page.alias, category: categoryText(page) },
    code,
    urlTitle: page.title,
    pageLanguage: page.language ?? "en",
    ...{ values: {}, tags: "" },
  };
  const visitor = await recordHit(hit);
  keepDevice(response, { visit, visitor, hitId: hit.id }, settings);
  return { hit, visitor };
}

/** The page's category as JSON; `null` without one. */
function categoryText({ category }: PageRow): string {
  return category ? Buffer.from(category.shown).toString() : "null";
}

function choiceCookie(name: string, page: PageRow, { isSecure }: VisitSettings): string {
  return stringifySetCookie({
    ...{
      name,
      value: String(page.id),
      path: "/",
      httpOnly: true,
      maxAge: CHOICE_SECONDS,
      sameSite: "lax" as const,
    },
    ...(isSecure && { secure: true }),
  });
}
