import type { Database } from "@tidings/database/database";
import type { FocusItem } from "@tidings/proto/tidings/content/v1/focus_item";
import { type Request, type Response, Router } from "express";
import { fromTrackedSites } from "../visit/cross-origin.ts";
import { newFactId } from "../visit/hit.ts";
import { pageHit } from "../visit/page-hit.ts";
import { readParameters } from "../visit/parameters.ts";
import type { RecordFact } from "../visit/record-facts.ts";
import { deviceOfPage } from "../visit/served-hit.ts";
import { namedVisitOf } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { rowIdOf } from "../web/row-id.ts";
import { sendScript } from "../web/send-script.ts";
import { hasFocusItem, openFocusItem } from "./find-focus-item.ts";
import type { FocusFact } from "./focus-fact.ts";

export interface FocusRouteOptions {
  database: Database;
  settings: VisitSettings;
  /** The script that shows an item. */
  script: (item: FocusItem) => Promise<string>;
  record: RecordFact<FocusFact>;
}

/** A browser asks again after so long, and gets 304 where the script is the same. */
const MAX_AGE_SECONDS = 1;

/** `GET /focus/<id>.js`: the script of an item, empty where none is published; `POST /focus/event`: it was seen, or a link in it was followed. */
export function focusRoutes({ database, settings, script, record }: FocusRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  router.get(/^\/focus\/([^/]{1,100})\.js$/, async (request: Request, response: Response) => {
    const id = rowIdOf(String(request.params[0]));
    const item = id === undefined ? undefined : await openFocusItem(database, id);
    sendScript(response, item ? await script(item) : "", MAX_AGE_SECONDS);
  });
  router.post("/focus/event", fromTrackedSites(settings), async (request: Request, response: Response) => {
    const parameters = await readParameters(request);
    const focusId = rowIdOf(parameters.get("focus") ?? "");
    const type = parameters.get("type");
    const isKnown =
      focusId !== undefined &&
      (type === "view" || type === "click") &&
      (await hasFocusItem(database, focusId));
    if (!isKnown) return void response.json({ success: 0 });
    const name = `${settings.prefix}_device_id`;
    // Landing pages keep no id. The signed id of the hit that one was served with leads to the browser.
    const served = parameters.has(name)
      ? undefined
      : await deviceOfPage(database, settings.tokens.hit, parameters);
    const visit = namedVisitOf(request, parameters, settings, served);
    const hit = pageHit({ visit, parameters, prefix: settings.prefix, fields: new Set() });
    // A browser without an id cannot keep one here: its visitor could not be found again.
    const device = visit.device?.isNew ? undefined : visit.device;
    await record({ ...hit, ...newFactId(visit.at), device, focusId, type });
    response.json({ success: 1 });
  });
  return router;
}
