import type { Database } from "@tidings/database/database";
import { type Request, type Response, Router } from "express";
import { isTrackedOrigin, sharedWith } from "../visit/cross-origin.ts";
import type { KnownContacts } from "../visit/known-contact.ts";
import { pageHit } from "../visit/page-hit.ts";
import { readParameters } from "../visit/parameters.ts";
import type { See } from "../visit/record-hits.ts";
import { keepDevice, namedVisitOf } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { RecordShown } from "./record-shown.ts";
import { slotContents } from "./slot-content.ts";
import { withoutScripts } from "./without-scripts.ts";

export interface SlotRouteOptions {
  database: Database;
  settings: VisitSettings;
  see: See;
  contacts: KnownContacts;
  recordShown: RecordShown;
}

/** `GET /dwc/<slot>`: the content of a slot for this visitor, without scripts; 204 where the page's own stays. */
export function slotRoutes({ database, settings, see, contacts, recordShown }: SlotRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  router.all("/dwc/:slot", sharedWith(settings), async (request: Request, response: Response) => {
    const { origin } = request.headers;
    if (origin !== undefined && !isTrackedOrigin(origin, settings)) return void response.status(204).end();
    const slot = String(request.params.slot);
    const parameters = await readParameters(request);
    const visit = namedVisitOf(request, parameters, settings);
    const { device } = visit;
    if (!device) return void response.status(204).end();
    const visitor = await see(pageHit({ visit, parameters, prefix: settings.prefix, fields: new Set() }));
    const found = await slotContents({ database, contacts }, visitor)(slot);
    keepDevice(response, { visit, visitor }, settings);
    if (!found || !visitor) return void response.status(204).end();
    const shown = { contactId: visitor.contactId, dynamicContentId: found.id, slot, at: visit.at };
    await recordShown(shown, visitor.isWaiting ? device.id : undefined);
    const content = withoutScripts(found.content);
    response.json({ content, id: visitor.shownContactId, sid: device.id, device_id: device.id });
  });
  return router;
}
