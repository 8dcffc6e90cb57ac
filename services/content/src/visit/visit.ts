import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { parseCookie, stringifySetCookie } from "cookie";
import { keptAddress } from "./address.ts";
import { deviceIdOf, newDeviceId } from "./device-id.ts";
import { type Verdict, verdictOf } from "./machine.ts";
import { cleanText, type Parameters } from "./parameters.ts";
import type { Place } from "./places.ts";
import { withoutProofs } from "./proofs.ts";
import type { ShownVisitor } from "./sighting.ts";
import type { VisitSettings } from "./visit-settings.ts";

/** A request to the public web, as far as its headers and parameters say who makes it. */
export interface Visit extends Verdict {
  /** When it came, by the clock of the database, in milliseconds since 1970. */
  at: number;
  /** The browser; undefined where it may not be known: a machine, or a person who did not agree. */
  device: { id: string; isNew: boolean } | undefined;
  /** A script or a form named the browser: no cookie did. */
  isNamed: boolean;
  /** As it is kept. */
  ip: string;
  /** The place of the kept address, where places of addresses are known. */
  place?: Place | undefined;
  /** A page says that its visitor agreed to be recognised. */
  isConsenting: boolean;
  isFoundByAddress: boolean;
  userAgent: string;
  browserLanguages: string[];
  /** The page that the request came from, as the browser says. */
  referer: string;
}

const YEAR_SECONDS = 365 * 86_400;
const AGENT_LENGTH_MAX = 1_000;
const LANGUAGES_MAX = 20;

/**
 * Reads who makes a request, by its headers and its parameters. The cookie alone names the browser: a link can have any parameter, so that one person
 * could give another the browser of their own.
 */
export function visitOf(request: IncomingMessage, parameters: Parameters, settings: VisitSettings): Visit {
  return visitBy(request, parameters, settings, {});
}

/**
 * The same of a request by a script or a form: its parameters name the browser where no cookie does, since a page that is not ours knows only what its own
 * storage has. `served` is the browser of the landing page that the request comes from, which is known before all.
 */
export function namedVisitOf(
  request: IncomingMessage,
  parameters: Parameters,
  settings: VisitSettings,
  served?: string,
): Visit {
  return visitBy(request, parameters, settings, { served, named: namedDevice(parameters, settings) });
}

function visitBy(
  request: IncomingMessage,
  parameters: Parameters,
  settings: VisitSettings,
  { served, named }: { served?: string | undefined; named?: string | undefined },
): Visit {
  const { headers, method = "GET" } = request;
  const ip = String(headers["x-forwarded-for"] ?? "");
  const kept = keptAddress(ip, settings.ipForm);
  const verdict = verdictOf({ method, headers, ip }, settings.machines);
  const cookie = served === undefined ? keptDevice(request, settings) : undefined;
  const known = served ?? cookie ?? named;
  const mayBeKnown =
    verdict.verdict !== "machine" && isAgreed(request, parameters, settings, known !== undefined);
  return {
    ...verdict,
    at: settings.now(),
    device: mayBeKnown
      ? known
        ? { id: known, isNew: false }
        : { id: newDeviceId(), isNew: true }
      : undefined,
    isNamed: known !== undefined && cookie === undefined,
    ip: kept,
    place: settings.placeOf(kept),
    isConsenting: parameters.get(CONSENT_PARAMETER) === "1",
    isFoundByAddress: settings.isFoundByAddress,
    userAgent: cleanText(headers["user-agent"] ?? "", AGENT_LENGTH_MAX),
    browserLanguages: languagesOf(headers["accept-language"]),
    referer: withoutProofs(cleanText(headers.referer ?? ""), settings.prefix),
  };
}

function keptDevice({ headers }: IncomingMessage, { prefix }: VisitSettings): string | undefined {
  return deviceIdOf(parseCookie(headers.cookie ?? "")[`${prefix}_device_id`]);
}

/** The device that parameters name: by its id, which only its own pages know, or by a signed token. */
export function namedDevice(parameters: Parameters, settings: VisitSettings): string | undefined {
  return (
    deviceIdOf(parameters.get(`${settings.prefix}_device_id`)) ??
    readDeviceToken(parameters.get(DEVICE_PARAMETER) ?? "", settings)
  );
}

/**
 * The parameter by which a form on a page of ours says whose browser it is in: pages in a sandbox send no cookies. Signed, and good for a day.
 */
export const DEVICE_PARAMETER = "device";
const DEVICE_TOKEN_MS = 86_400_000;

export function signDevice(deviceId: string, { tokens, now }: VisitSettings): string {
  return tokens.device.sign(deviceId, now() + DEVICE_TOKEN_MS);
}

function readDeviceToken(token: string, { tokens }: VisitSettings): string | undefined {
  return deviceIdOf(tokens.device.read(token));
}

/** The parameter by which a page says what its visitor agreed to: `1`, or `0` where that was taken back. */
export const CONSENT_PARAMETER = "consent";

/** May this visitor be known again? */
function isAgreed(
  { headers }: IncomingMessage,
  parameters: Parameters,
  { consent }: VisitSettings,
  isKnown: boolean,
): boolean {
  if (parameters.get(CONSENT_PARAMETER) === "0") return false;
  if (consent === "off") return true;
  if (consent === "required") return isKnown || parameters.get(CONSENT_PARAMETER) === "1";
  return !signalsRefusal(headers) && parameters.get("do_not_track") !== "true";
}

/** Does a browser ask that its visitor is left alone (Tracking Preference Expression, 5.2; Global Privacy Control, 2.3)? */
export function signalsRefusal(headers: IncomingHttpHeaders): boolean {
  return headers.dnt === "1" || headers["sec-gpc"] === "1";
}

function languagesOf(header = ""): string[] {
  return header
    .slice(0, 500)
    .split(",", LANGUAGES_MAX)
    .map((item) => item.split(";", 1)[0]?.trim() ?? "")
    .filter((tag) => /^[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8}){0,4}$/.test(tag));
}

/** A visit with its visitor, and the hit that it was, as far as they are known. */
export interface Recorded {
  visit: Pick<Visit, "device" | "isNamed">;
  visitor: ShownVisitor | undefined;
  hitId?: string;
}

/**
 * Lets the browser of a visitor keep who it is: the random id of the device for a year, and for its session the ids of contact and hit,
 * which nobody believes when they come back. A hit that waits on disk has no contact yet: its device will have one. A browser that was named by a parameter
 * gets no cookie: whoever sent the visitor here may know that id.
 */
export function keepDevice(
  response: ServerResponse,
  { visit, visitor, hitId }: Recorded,
  settings: VisitSettings,
): void {
  if (!visit.device || visit.isNamed) return;
  if (!visitor) {
    if (hitId) keepNewDevice(response, visit.device.id, settings);
    return;
  }
  const { prefix } = settings;
  const device = cookieOf(`${prefix}_device_id`, visit.device.id, settings, YEAR_SECONDS);
  const contact = cookieOf("mtc_id", String(visitor.shownContactId), settings);
  const hit = hitId ? [cookieOf(`${prefix}_referer_id`, hitId, settings)] : [];
  response.appendHeader("set-cookie", [device, contact, ...hit]);
}

/** Lets the browser keep the id of its device, before there is anything else to know of it. */
export function keepNewDevice(response: ServerResponse, deviceId: string, settings: VisitSettings): void {
  response.appendHeader(
    "set-cookie",
    cookieOf(`${settings.prefix}_device_id`, deviceId, settings, YEAR_SECONDS),
  );
}

/** Lets the browser forget who it is, and which pages it was shown. */
export function forgetDevice(
  request: IncomingMessage,
  response: ServerResponse,
  settings: VisitSettings,
): void {
  const { prefix } = settings;
  const names = [`${prefix}_device_id`, "mtc_id", `${prefix}_referer_id`];
  response.appendHeader(
    "set-cookie",
    names.map((name) => cookieOf(name, "", settings, 0)),
  );
  forgetChoices(request, response, settings);
}

const CHOICE_SECONDS = 14 * 86_400;

/** The variant of a landing page that the visitor was shown before; undefined where there was none. */
export function keptChoice(
  { headers }: IncomingMessage,
  pageId: number,
  { prefix }: VisitSettings,
): number | undefined {
  const id = Number(parseCookie(headers.cookie ?? "")[`${prefix}_page_${pageId}`]);
  return Number.isInteger(id) ? id : undefined;
}

/** Keeps the variant of a landing page that the visitor is shown. */
export function keepChoice(
  response: ServerResponse,
  { pageId, shownId }: { pageId: number; shownId: number },
  settings: VisitSettings,
): void {
  const cookie = choiceCookie(`${settings.prefix}_page_${pageId}`, String(shownId), settings, CHOICE_SECONDS);
  response.appendHeader("set-cookie", cookie);
}

/** Lets the browser of a visitor who may not be known forget which variants it was shown. */
export function forgetChoices(
  { headers }: IncomingMessage,
  response: ServerResponse,
  settings: VisitSettings,
): void {
  const names = Object.keys(parseCookie(headers.cookie ?? "")).filter((name) =>
    name.startsWith(`${settings.prefix}_page_`),
  );
  for (const name of names) response.appendHeader("set-cookie", choiceCookie(name, "", settings, 0));
}

/** Landing pages are the public web's own: no other site has it. */
function choiceCookie(name: string, value: string, { isSecure }: VisitSettings, maxAge: number): string {
  const lax = { path: "/", httpOnly: true, maxAge, sameSite: "lax" as const };
  return stringifySetCookie({ name, value, ...lax, ...(isSecure && { secure: true }) });
}

/** Under TLS pages on other sites have it, each site its own (CHIPS). */
function cookieOf(name: string, value: string, { isSecure }: VisitSettings, maxAge?: number): string {
  const sameSite = isSecure ? ("none" as const) : ("lax" as const);
  return stringifySetCookie({
    name,
    value,
    path: "/",
    httpOnly: true,
    ...(maxAge !== undefined && { maxAge }),
    sameSite,
    ...(isSecure && { secure: true, partitioned: true }),
  });
}
