import type { Database } from "@tidings/database/database";
import type { Outbox } from "@tidings/messaging/outbox";
import { yesOrNoOf } from "@tidings/runtime/plain-text";
import { type Request, type Response, Router } from "express";
import { fromTrackedSites, sharedWith } from "../visit/cross-origin.ts";
import { type Parameters, readParameters } from "../visit/parameters.ts";
import { namedDevice, visitOf } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { recordReads } from "./record-reads.ts";
import { registerPush } from "./register-push.ts";

export interface PushRouteOptions {
  database: Database;
  outbox: Outbox;
  settings: VisitSettings;
}

/** Names of the id that the provider gave a browser or an app. */
const ID_NAMES = ["push_id", "osid"];
/** As providers write them, and nothing that could be read as anything else. */
const PUSH_ID = /^[\w:.-]{8,191}$/;
const HASH = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Routes for scripts of pages and for apps (engines.md 9.3): `/notification/subscribe` and `/notification/appcallback` register the id of a browser, or of an
 * app, for the contact that it has proven to be; `/notification/receive` says that a notification was seen.
 */
export function pushRoutes(options: PushRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  const guards = [sharedWith(options.settings), fromTrackedSites(options.settings)];
  for (const [path, isMobile] of [
    ["/notification/subscribe", false],
    ["/notification/appcallback", true],
  ] as const)
    router.all(path, ...guards, async (request: Request, response: Response) => {
      const parameters = await readParameters(request);
      const isDone = await register(options, parameters, isMobile);
      response.json({ success: Number(isDone) });
    });
  router.all("/notification/receive", ...guards, async (request: Request, response: Response) => {
    const parameters = await readParameters(request);
    response.json({ success: Number(await receive(options, request, parameters)) });
  });
  return router;
}

/** The device has to be named by a parameter: a cookie goes along whichever site has the browser ask. */
async function register(
  { database, outbox, settings }: PushRouteOptions,
  parameters: Parameters,
  isMobile: boolean,
): Promise<boolean> {
  const deviceId = namedDevice(parameters, settings);
  const pushId = ID_NAMES.map((name) => parameters.get(name)).find((id) => id) ?? "";
  if (deviceId === undefined || !PUSH_ID.test(pushId)) return false;
  const isEnabled = yesOrNoOf(parameters.get("enabled") ?? "1") ?? true;
  return registerPush({ database, outbox }, { deviceId, pushId, isMobile, isEnabled });
}

/** A notification was seen. Its name is known to those who got it alone; the answer does not say whether there is such a one. */
async function receive(
  { database, outbox, settings }: PushRouteOptions,
  request: Request,
  parameters: Parameters,
): Promise<boolean> {
  const hash = parameters.get("hash") ?? "";
  if (!HASH.test(hash)) return false;
  const { ip } = visitOf(request, parameters, settings);
  await recordReads({ database, outbox }, [{ hash, at: settings.now(), ip }]);
  return true;
}
