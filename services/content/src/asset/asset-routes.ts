import type { Database } from "@tidings/database/database";
import { plainPage } from "@tidings/runtime/plain-page";
import { type Request, type Response, Router } from "express";
import { Counter } from "prom-client";
import { isWebAddress } from "../family/web-address.ts";
import type { FileStore } from "../file/store.ts";
import { askedBy } from "../visit/asked.ts";
import { newFactId } from "../visit/hit.ts";
import { readParameters } from "../visit/parameters.ts";
import { type MayFollow, visitOfReader } from "../visit/reader-consent.ts";
import type { RecordFact } from "../visit/record-facts.ts";
import { keepDevice } from "../visit/visit.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { assetPath } from "./asset-address.ts";
import type { Download } from "./download.ts";
import { type FoundAsset, findAsset } from "./find-asset.ts";
import { type FileOutcome, sendFile } from "./send-file.ts";

export interface AssetRouteOptions {
  database: Database;
  store: FileStore;
  settings: VisitSettings;
  mayFollow: MayFollow;
  recordDownload: RecordFact<Download>;
}

const answered = new Counter({
  name: "tidings_asset_downloads_total",
  help: "Downloads of assets, by outcome: sent, continued at a later byte, unchanged, unsatisfiable, redirected, refused, missing",
  labelNames: ["outcome"],
});

/** `/asset/<id>:<alias>`: files for visitors, and the addresses of remote ones (engines.md 7.5). */
export function assetRoutes(options: AssetRouteOptions): Router {
  const router = Router({ caseSensitive: true });
  // The path is compared as it was sent: a parameter of a route would be decoded.
  router.get(/^\/asset\//, async (request: Request, response: Response, next) => {
    const asset = await findAsset(options.database, request.path);
    if (!asset) return next();
    const outcome = await answer(options, request, response, asset);
    if (outcome === "missing") next();
    if (outcome !== "moved" && request.method !== "HEAD") answered.inc({ outcome });
  });
  return router;
}

async function answer(
  options: AssetRouteOptions,
  request: Request,
  response: Response,
  asset: FoundAsset,
): Promise<FileOutcome | "refused" | "moved" | "redirected"> {
  const { searchParams, search } = new URL(request.url, options.settings.publicUrl);
  const record = (code: Download["code"]) => recordAnswer(options, request, response, { asset, code });
  if (!asset.isOpen) {
    await record(401);
    response.status(401).type("text/html").send(plainPage("Not available", "This file is not available."));
    return "refused";
  }
  if (request.path !== assetPath(asset)) {
    response.redirect(301, `${assetPath(asset)}${search}`);
    return "moved";
  }
  if (asset.disallow) response.setHeader("x-robots-tag", "noindex, nofollow, noarchive");
  if (!asset.isRemote) {
    const isInline = searchParams.get("stream") === "1";
    return sendFile(request, response, { asset, isInline, store: options.store, record: () => record(200) });
  }
  if (!isWebAddress(asset.file)) return "missing";
  await record(302);
  response.redirect(302, asset.file);
  return "redirected";
}

/** Records the visit with the status that it is answered with. A program that asks for the headers alone downloads nothing. */
async function recordAnswer(
  { settings, mayFollow, recordDownload }: AssetRouteOptions,
  request: Request,
  response: Response,
  { asset, code }: { asset: FoundAsset; code: Download["code"] },
): Promise<void> {
  if (request.method === "HEAD") return;
  const sent = await readParameters(request);
  const { visit, parameters } = await visitOfReader(request, sent, { settings, mayFollow });
  const asked = askedBy(request, parameters, settings);
  const visitor = await recordDownload({
    ...newFactId(visit.at),
    ...visit,
    ...asked,
    assetId: asset.id,
    code,
  });
  keepDevice(response, { visit, visitor }, settings);
}
