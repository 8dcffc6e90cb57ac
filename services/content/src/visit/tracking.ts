import { backgroundDeadline, type Database, prepared } from "@tidings/database/database";
import { isOutage } from "@tidings/rpc/outage";
import { BLANK_IMAGE } from "@tidings/runtime/blank-image";
import type { Log } from "@tidings/runtime/log";
import { type Request, type Response, Router } from "express";
import { isPreviewAddress } from "../web/preview.ts";
import { clickIn, sourceOf } from "./click.ts";
import { fromTrackedSites, sharedWith } from "./cross-origin.ts";
import { hitLeft } from "./hit-left.ts";
import { pageHit } from "./page-hit.ts";
import { type Parameters, readParameters } from "./parameters.ts";
import type { Leave, RecordHit, See } from "./record-hits.ts";
import { CONSENT_PARAMETER, forgetDevice, keepDevice, type Recorded, visitOf } from "./visit.ts";
import type { VisitSettings } from "./visit-settings.ts";

export interface TrackingOptions {
  database: Database;
  log: Log;
  settings: VisitSettings;
  recordHit: RecordHit;
  /** Notes a visitor without a hit. */
  see: See;
  /** Notes that a visitor left a page. */
  leave: Leave;
  fields: () => Promise<ReadonlySet<string>>;
}

/** Routes for scripts and images on pages: `/mtc/event`, `/mtc` and `/mtracking.gif`. */
export function trackingRoutes(options: TrackingOptions): Router {
  const { settings } = options;
  const router = Router({ caseSensitive: true });
  const shared = sharedWith(settings);
  router.all(
    "/mtc/event",
    shared,
    fromTrackedSites(settings),
    async (request: Request, response: Response) => {
      const parameters = await readParameters(request);
      const outcome = await record(options, request, response, parameters);
      if (!outcome) return void response.json({ success: 0 });
      response.json({ success: 1, ...idsOf(outcome), ...hitOf(outcome, settings), events: {} });
    },
  );
  router.get("/mtc", shared, async (request: Request, response: Response) => {
    const parameters = await readParameters(request);
    const visit = visitOf(request, parameters, settings);
    if (!visit.device) return void response.json([]);
    const fields = new Set<string>();
    const visitor = await options.see(pageHit({ visit, parameters, prefix: settings.prefix, fields }));
    if (!visitor) return void response.json([]);
    keepDevice(response, { visit, visitor }, settings);
    response.json(idsOf({ visitor, visit }));
  });
  router.get("/mtracking.gif", async (request: Request, response: Response) => {
    const parameters = await readParameters(request);
    await record(options, request, response, parameters).catch((error) => {
      if (!isOutage(error)) options.log.error({ err: error }, "a hit was lost");
    });
    response.setHeader("cross-origin-resource-policy", "cross-origin");
    response.type("image/gif").end(BLANK_IMAGE);
  });
  return router;
}

/** Records the hit of a page; undefined where a link is named that we did not sign. */
async function record(
  { database, settings, recordHit, leave, fields }: TrackingOptions,
  request: Request,
  response: Response,
  parameters: Parameters,
): Promise<Recorded | undefined> {
  const visit = visitOf(request, parameters, settings);
  if (parameters.get(CONSENT_PARAMETER) === "0") await withdraw(database, response, parameters, settings);
  const served = settings.tokens.hit.read(parameters.get("hit") ?? "");
  if (parameters.has("left")) {
    const left = served ?? (visit.device && (await hitLeft(database, visit.device.id, parameters)));
    if (left) await leave({ id: left, at: Date.now() });
  }
  // The page counted this visit while it was served.
  const isCounted = served !== undefined || parameters.has("left");
  if (isCounted || isPreviewAddress(parameters.get("page_url") ?? "", settings.publicUrl))
    return { visit, visitor: undefined };
  const asked = clickIn(parameters, settings.tokens.click);
  if (!asked) return undefined;
  const hit = pageHit({ visit, parameters, prefix: settings.prefix, fields: await fields() });
  const visitor = await recordHit(asked.click ? { ...hit, ...sourceOf(asked.click) } : hit);
  keepDevice(response, { visit, visitor, hitId: hit.id }, settings);
  return { visit, visitor, hitId: hit.id };
}

/** The signed id of a hit, by which the page later reports that its visitor left. */
function hitOf({ visitor, hitId }: Recorded, { tokens }: VisitSettings) {
  return visitor && hitId ? { hit: tokens.hit.sign(hitId) } : {};
}

/** `id`, `sid` and `device_id` of a visitor who may be known; nothing else of them is said. */
export function idsOf({ visitor, visit }: Recorded) {
  const deviceId = visitor ? visit.device?.id : undefined;
  return { id: visitor?.shownContactId ?? null, sid: deviceId ?? null, device_id: deviceId ?? null };
}

const forgetStatement = prepared(
  "visitor_devices_withdraw",
  `with promised as (delete from promised_visitors where device_id = $1)
   delete from visitor_devices where id = $1`,
);

/** A visitor takes their consent back: the browser forgets who it is, and so do we. */
async function withdraw(
  database: Database,
  response: Response,
  parameters: Parameters,
  settings: VisitSettings,
): Promise<void> {
  forgetDevice(response, settings);
  const device = visitOf(response.req, new Map([...parameters, [CONSENT_PARAMETER, "1"]]), settings).device;
  if (device && !device.isNew) await database.query(forgetStatement, [device.id], backgroundDeadline());
}
