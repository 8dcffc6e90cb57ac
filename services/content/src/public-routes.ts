import type { Foundation } from "@tidings/service/start-service";
import type { Router } from "express";
import { assetRoutes } from "./asset/asset-routes.ts";
import { DOWNLOADS } from "./asset/record-downloads.ts";
import type { ContentConfig } from "./config.ts";
import { FOCUS_FACTS } from "./focus/focus-fact.ts";
import { focusRoutes } from "./focus/focus-routes.ts";
import { submissionFileRoutes } from "./form/file-routes.ts";
import { callOf } from "./form/form-options.ts";
import { formRoutes } from "./form/form-routes.ts";
import { pushRoutes } from "./notification/push-routes.ts";
import type { Modules, SharedParts } from "./open-modules.ts";
import { pagePreviewRoutes } from "./page/page-preview.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { holdDownloads } from "./send/hold-clicks.ts";
import { slotRoutes } from "./slot/slot-routes.ts";
import { videoRecorder } from "./video/record-video.ts";
import { videoRoutes } from "./video/video-routes.ts";
import { factRecorder } from "./visit/record-facts.ts";

/** All routes of the public web. */
export function publicRoutes(
  foundation: Foundation<ContentConfig>,
  shared: SharedParts,
  modules: Modules,
): Router[] {
  const { config, database, outbox, log } = foundation;
  const { visits, store, addresses } = shared;
  const { settings, contacts, mayFollow, ids, recordHit, see, fields } = visits;
  const { sends, callbacks, replies, kept, pageShown, recordShown, focusScript, formOptions } = modules;
  const visiting = { database, outbox, ids };
  return [
    ...visits.routes,
    videoRoutes({ settings, record: videoRecorder(visiting) }),
    focusRoutes({
      database,
      settings,
      script: (item) => focusScript(item, callOf()),
      record: factRecorder(visiting, FOCUS_FACTS),
    }),
    formRoutes(formOptions),
    submissionFileRoutes(database, store),
    slotRoutes({ database, settings, see, contacts, recordShown }),
    assetRoutes({
      ...{ database, store, settings, mayFollow },
      recordDownload: factRecorder(visiting, DOWNLOADS, holdDownloads),
    }),
    ...kept.routes,
    ...sends.routes,
    callbacks.routes,
    pushRoutes({ database, outbox, settings }),
    replies.route,
    pagePreviewRoutes(pageShown),
    // Each path that is nothing else may be the alias of a page.
    pageRoutes({
      ...pageShown,
      log,
      mayFollow,
      recordHit,
      fields,
      recordShown,
      addresses,
      ignoresStrangersAtNoPage: config.DO_NOT_TRACK_404_ANONYMOUS,
    }),
  ];
}
