import { type Request, type Response, Router } from "express";
import { clickIn, sourceOf } from "../visit/click.ts";
import { fromTrackedSites, sharedWith } from "../visit/cross-origin.ts";
import { addressOf, pageHit } from "../visit/page-hit.ts";
import { cleanText, type Parameters, readParameters } from "../visit/parameters.ts";
import { withoutProofs } from "../visit/proofs.ts";
import type { RecordFact } from "../visit/record-facts.ts";
import { idsOf } from "../visit/tracking.ts";
import { keepDevice, namedVisitOf } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { VideoReport } from "./video-hit.ts";

export interface VideoRouteOptions {
  settings: VisitSettings;
  record: RecordFact<VideoReport>;
}

const GUID_LENGTH_MAX = 191;
/** A week: no video is longer. */
const SECONDS_MAX = 604_800;

/** `POST /video/hit`: how far a video was watched (engines.md 7.1). Parameters that cannot be read are left out. */
export function videoRoutes({ settings, record }: VideoRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  const guards = [sharedWith(settings), fromTrackedSites(settings)];
  router.all("/video/hit", ...guards, async (request: Request, response: Response) => {
    const parameters = await readParameters(request);
    const asked = clickIn(parameters, settings.tokens.click);
    if (!asked) return void response.json({ success: 0 });
    const visit = namedVisitOf(request, parameters, settings);
    const hit = pageHit({ visit, parameters, prefix: settings.prefix, fields: new Set() });
    const visitor = await record({
      ...hit,
      ...sourceOf(asked.click),
      referer: hit.referer || visit.referer,
      url: withoutProofs(addressOf(parameters.get("url") ?? ""), settings.prefix) || hit.url,
      guid: cleanText(parameters.get("guid") ?? "", GUID_LENGTH_MAX),
      timeWatched: secondsIn(parameters, "total_watched"),
      duration: secondsIn(parameters, "duration"),
    });
    keepDevice(response, { visit, visitor }, settings);
    response.json({ success: 1, ...idsOf({ visit, visitor }) });
  });
  return router;
}

function secondsIn(parameters: Parameters, name: string): number | undefined {
  const text = parameters.get(name)?.trim();
  const seconds = text ? Number(text) : Number.NaN;
  return seconds >= 0 ? Math.min(Math.floor(seconds), SECONDS_MAX) : undefined;
}
