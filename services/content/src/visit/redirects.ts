import { randomBytes } from "node:crypto";
import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";
import { publicPathOf } from "@tidings/rpc/public-paths";
import type { Log } from "@tidings/runtime/log";
import { type Request, type RequestHandler, type Response, Router } from "express";
import { LRUCache } from "lru-cache";
import { type Click, leadReader, readClick, sourceOf } from "./click.ts";
import { fieldLinkOf, readTarget } from "./field-link.ts";
import { newFactId } from "./hit.ts";
import { utmOf } from "./page-hit.ts";
import { readParameters } from "./parameters.ts";
import { type MayFollow, visitOfReader } from "./reader-consent.ts";
import type { RecordHit } from "./record-hits.ts";
import { keepDevice } from "./visit.ts";
import type { VisitSettings } from "./visit-settings.ts";

/** A tracked link. */
export interface Redirect {
  id: number;
  url: string;
}

/** The name of a tracked link in its address: 100 random bits. */
const REDIRECT_ID = /^[0-9a-f]{25}$/;
const KNOWN_MAX = 10_000;
const REMEMBERED_MS = 5_000;

export function newRedirectId(): string {
  return randomBytes(13).toString("hex").slice(0, 25);
}

const findStatement = prepared(
  "page_redirects_find",
  "select id, url from page_redirects where redirect_id = $1 and is_published",
);

/**
 * Finds tracked links. Each replica remembers the latest ones, so that they lead on while the database is away. One that is remembered leads on at once, and
 * is looked up again every five seconds: a link that was taken back ends within that time.
 */
export function redirectFinder(database: Database): (redirectId: string) => Promise<Redirect | undefined> {
  const known = new LRUCache<string, Redirect & { readAt: number }>({ max: KNOWN_MAX });
  const read = async (redirectId: string): Promise<Redirect | undefined> => {
    const [row] = await database.query(findStatement, [redirectId], backgroundDeadline());
    const redirect = row && { id: Number(row.id), url: row.url ?? "" };
    if (redirect) known.set(redirectId, { ...redirect, readAt: performance.now() });
    else known.delete(redirectId);
    return redirect;
  };
  return async (redirectId) => {
    if (!REDIRECT_ID.test(redirectId)) return undefined;
    const remembered = known.get(redirectId);
    if (!remembered) return read(redirectId);
    if (performance.now() - remembered.readAt > REMEMBERED_MS) {
      remembered.readAt = performance.now();
      void read(redirectId).catch(() => undefined); // it leads on as it did
    }
    return remembered;
  };
}

export interface RedirectOptions {
  log: Log;
  settings: VisitSettings;
  mayFollow: MayFollow;
  recordHit: RecordHit;
  find: (redirectId: string) => Promise<Redirect | undefined>;
  /** Values of fields of a contact by alias, for links that have some in their address. */
  valuesOf: (contactId: number, aliases: string[]) => Promise<ReadonlyMap<string, string>>;
}

/** `/r/<id>` and `/redirect/<id>`: tracked links (engines.md 6.9). */
export function redirectRoutes(options: RedirectOptions): Router {
  const { log, settings, recordHit, find, valuesOf } = options;
  const router = Router({ caseSensitive: true });
  const follow: RequestHandler = async (request: Request, response: Response, next) => {
    const redirect = await find(String(request.params.id));
    if (!redirect) return next();
    const sent = await readParameters(request);
    const reader = readClick(settings.tokens.click, sent.get("ct") ?? "");
    const { visit, parameters } = await visitOfReader(request, sent, options);
    const click = readClick(settings.tokens.click, parameters.get("ct") ?? "");
    const utm = [...parameters].filter(([name]) => name.startsWith("utm_"));
    const filled =
      fieldLinkOf(redirect.url) === undefined
        ? await fillFields(redirect.url, reader?.contactId, valuesOf)
        : (readTarget(settings.tokens.target, String(request.params.id), sent.get("to") ?? "") ?? "");
    const target = withParameters(filled, utm);
    if (!target) return next();
    // A link that names nobody counts nothing.
    if (click) {
      const query = Object.fromEntries(utm);
      const hit = {
        ...newFactId(visit.at),
        ...visit,
        ...{
          redirectId: redirect.id,
          code: 302,
          url: target,
          urlTitle: "",
          remoteHost: "",
          pageLanguage: "",
        },
        ...sourceOf(click),
        ...{ query, utm: utmOf(query) },
        ...{ timeZone: "", locale: "", values: {}, tags: "" },
      };
      const visitor = await recordHit(hit).catch((error) => {
        // The visitor goes on; the hit is kept elsewhere, or counted as lost.
        if (!isOutage(error)) log.error({ err: error }, "a click was not recorded");
        return undefined;
      });
      keepDevice(response, { visit, visitor, hitId: hit.id }, settings);
    }
    response.setHeader("cache-control", "no-store");
    response.redirect(302, click ? withReader(target, click, settings) : target);
  };
  router.get("/r/:id", follow);
  router.get("/redirect/:id", follow);
  return router;
}

const FIELD =
  /\{contactfield=([a-z0-9_]{1,191})(?:\|([^{}|]{0,191}))?\}|%7Bcontactfield%3D([a-z0-9_]{1,191})%7D/gi;

/** Values of the contact stand encoded in the address; without a contact there are none. */
async function fillFields(
  url: string,
  contactId: number | undefined,
  valuesOf: RedirectOptions["valuesOf"],
): Promise<string> {
  const aliases = [...url.matchAll(FIELD)].map(([, alias, , encoded]) => alias ?? encoded ?? "");
  if (aliases.length === 0) return url;
  const none: ReadonlyMap<string, string> = new Map();
  const values = contactId === undefined ? none : await valuesOf(contactId, aliases).catch(() => none); // the link leads on without them
  return url.replaceAll(FIELD, (_token, alias?: string, fallback = "", encoded?: string) =>
    encodeURIComponent((values.get(alias ?? encoded ?? "") || fallback).toWellFormed()),
  );
}

/** A landing page of ours is given its reader by a signed link, and so has their values at once. Its visit waits with the click for their verdict. */
function withReader(target: string, click: Click, { publicUrl, tokens }: VisitSettings): string {
  const url = new URL(target);
  const isPage = url.origin === new URL(publicUrl).origin && publicPathOf(url.pathname)?.path === "/";
  if (!isPage || click.contactId === undefined) return target;
  leadReader(url, click, tokens.click);
  return url.href;
}

/** The address with these parameters in place of its own of the same names; undefined where it is none on the web. */
function withParameters(text: string, parameters: [string, string][]): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  if (url.protocol !== "https:" && url.protocol !== "http:") return undefined;
  for (const [name, value] of parameters) url.searchParams.set(name, value);
  return url.href;
}
