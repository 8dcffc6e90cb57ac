import type { Database } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";
import { BLANK_IMAGE } from "@tidings/runtime/blank-image";
import type { Log } from "@tidings/runtime/log";
import { type Request, type Response, Router } from "express";
import { isPreviewAddress } from "../web/preview.ts";
import { clickIn, sourceOf } from "./click.ts";
import { isTrackedOrigin, sharedWith } from "./cross-origin.ts";
import type { FieldAliases } from "./field-aliases.ts";
import type { Hit } from "./hit.ts";
import { hitLeft } from "./hit-left.ts";
import { namesOfLeftOut, pageHit } from "./page-hit.ts";
import { type Parameters, readParameters } from "./parameters.ts";
import type { Leave, RecordHit, See } from "./record-hits.ts";
import { beginServed, deviceOfPage, HIT_PARAMETER, readServed, type ServedHit } from "./served-hit.ts";
import { hostOf, type TrackedSites } from "./tracked-sites.ts";
import {
  CONSENT_PARAMETER,
  forgetDevice,
  keepDevice,
  namedVisitOf,
  type Recorded,
  type Visit,
} from "./visit.ts";
import type { VisitSettings } from "./visit-settings.ts";
import type { Withdraw } from "./withdraw.ts";

export interface TrackingOptions {
  database: Database;
  log: Log;
  settings: VisitSettings;
  recordHit: RecordHit;
  /** Adds to a hit that was recorded while its page was served. */
  completeHit: RecordHit;
  /** Notes a visitor without a hit. */
  see: See;
  /** Notes that a visitor left a page. */
  leave: Leave;
  fields: FieldAliases;
  withdraw: Withdraw;
  sites: TrackedSites;
}

/** Routes for scripts and images on pages: `/mtc/event`, `/mtc` and `/mtracking.gif`. */
export function trackingRoutes(options: TrackingOptions): Router {
  const { settings } = options;
  const router = Router({ caseSensitive: true });
  const shared = sharedWith(settings);
  const isForeign = ({ headers: { origin } }: Request): boolean => {
    if (origin === undefined || isTrackedOrigin(origin, settings)) return false;
    options.sites.noteRefused(hostOf(origin), ["origin"]);
    return true;
  };
  router.all("/mtc/event", shared, async (request: Request, response: Response) => {
    if (isForeign(request)) return void response.json({ success: 0 });
    const outcome = await record(options, request, response, {});
    if (!outcome) return void response.json({ success: 0 });
    response.json({ success: 1, ...idsOf(outcome), ...hitOf(outcome, settings), events: {} });
  });
  router.get("/mtc", shared, async (request: Request, response: Response) => {
    if (isForeign(request)) return void response.json([]);
    const parameters = await readParameters(request);
    const visit = namedVisitOf(request, parameters, settings);
    if (!visit.device) return void response.json([]);
    const fields = new Set<string>();
    const visitor = await options.see(pageHit({ visit, parameters, prefix: settings.prefix, fields }));
    if (!visitor) return void response.json([]);
    keepDevice(response, { visit, visitor }, settings);
    response.json(idsOf({ visitor, visit }));
  });
  router.get("/mtracking.gif", async (request: Request, response: Response) => {
    await record(options, request, response, { saidBy: "pixel" }).catch((error) => {
      if (!isOutage(error)) options.log.error({ err: error }, "a hit was lost");
    });
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    response.type("image/gif").end(BLANK_IMAGE);
  });
  return router;
}

/** Records the hit of a page; undefined where a link is named that we did not sign. */
async function record(
  options: TrackingOptions,
  request: Request,
  response: Response,
  how: Pick<Hit, "saidBy">,
): Promise<Recorded | undefined> {
  const { database, settings, withdraw } = options;
  const leftOut = new Set<string>();
  const parameters = await readParameters(request, leftOut);
  const isWithdrawn = parameters.get(CONSENT_PARAMETER) === "0";
  const isLeaving = parameters.has("left");
  // The signed id of the hit that is left says all.
  const needsDevice = !isLeaving || isWithdrawn || !parameters.has(HIT_PARAMETER);
  const deviceId = needsDevice ? await deviceOfPage(database, settings.tokens.hit, parameters) : undefined;
  const visit = namedVisitOf(request, parameters, settings, deviceId);
  if (isWithdrawn) {
    forgetDevice(request, response, settings);
    await withdraw(request, parameters, deviceId);
  }
  const served = readServed(settings.tokens.hit, parameters);
  if (isLeaving) await leave(options, { parameters, visit, served });
  if (isLeaving || isPreviewAddress(parameters.get("page_url") ?? "", settings.publicUrl))
    return { visit, visitor: undefined };
  if (served)
    return complete(options, { parameters, visit, how }, { served, isKnown: deviceId !== undefined });
  return recordView(options, response, { parameters, visit, how, leftOut });
}

interface View {
  parameters: Parameters;
  visit: Visit;
  how: Pick<Hit, "saidBy">;
}

async function leave(
  { database, settings, leave }: TrackingOptions,
  { parameters, visit, served }: Omit<View, "how"> & { served: ServedHit | undefined },
): Promise<void> {
  const ofDevice = () => visit.device && hitLeft(database, visit.device.id, parameters, settings.prefix);
  const left = served ? served.id : await ofDevice();
  if (left) await leave({ id: left, at: visit.at });
}

/**
 * The page counted this visit while it was served: the script adds what it knows, or begins the visit of a person who has only now agreed to be recognised.
 * Ids of the device are not answered: it has them in a cookie, which no script reads.
 */
async function complete(
  { database, settings, recordHit, completeHit, fields }: TrackingOptions,
  { parameters, visit, how }: View,
  { served, isKnown }: { served: ServedHit; isKnown: boolean },
): Promise<Recorded> {
  const nobody = { device: undefined, isNamed: true };
  if (!visit.device) return { visit: nobody, visitor: undefined };
  const view = { ...pageHit({ visit, parameters, prefix: settings.prefix, fields: await fields() }), ...how };
  // Its address has said by which campaign the visitor came.
  if (isKnown)
    return { visit: nobody, visitor: await completeHit({ ...view, id: served.id, utm: undefined }) };
  const token = parameters.get("hit") ?? "";
  const begun = await beginServed(database, served, { token, said: view });
  return { visit: nobody, visitor: begun && (await recordHit(begun)) };
}

async function recordView(
  { settings, recordHit, fields, sites }: TrackingOptions,
  response: Response,
  { parameters, visit, how, leftOut }: View & { leftOut: Set<string> },
): Promise<Recorded | undefined> {
  const hit = { ...pageHit({ visit, parameters, prefix: settings.prefix, fields: await fields() }), ...how };
  const host = hostOf(hit.url);
  const asked = clickIn(parameters, settings.tokens.click);
  if (!asked) {
    sites.noteRefused(host, ["ct"]);
    return undefined;
  }
  sites.noteRefused(host, namesOfLeftOut(leftOut, parameters));
  const visitor = await recordHit(asked.click ? { ...hit, ...sourceOf(asked.click) } : hit).catch((error) => {
    sites.noteRefused(host, ["away"]);
    throw error;
  });
  sites.noteHit(host, hit);
  const recorded = { visit, visitor, hitId: hit.id };
  keepDevice(response, recorded, settings);
  return recorded;
}

/** The signed id of a hit, by which the page later reports that its visitor left. */
function hitOf({ visitor, hitId }: Recorded, { tokens }: VisitSettings) {
  return visitor && hitId ? { hit: tokens.hit.sign(hitId) } : {};
}

/** `id`, `sid` and `device_id` of a visitor who may be known; nothing else of them is said. A hit that waits on disk has no contact yet. */
export function idsOf({ visitor, visit, hitId }: Recorded) {
  const deviceId = visitor || hitId ? visit.device?.id : undefined;
  return { id: visitor?.shownContactId ?? null, sid: deviceId ?? null, device_id: deviceId ?? null };
}
