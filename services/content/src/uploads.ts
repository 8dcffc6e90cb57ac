import { answerOnceIn } from "@tidings/commands/answer-once";
import { createOutbound } from "@tidings/outbound/outbound";
import { AssetService } from "@tidings/proto/tidings/content/v1/asset_service";
import { FileService } from "@tidings/proto/tidings/content/v1/file";
import type { Form } from "@tidings/proto/tidings/content/v1/form";
import { ThemeService } from "@tidings/proto/tidings/content/v1/theme";
import { implementStandard } from "@tidings/resource/implement-resource";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { actorVerifier } from "@tidings/rpc/actor";
import { implement } from "@tidings/rpc/server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { assets } from "./asset/asset.ts";
import { measuring } from "./asset/measure.ts";
import type { ContentConfig } from "./config.ts";
import { fileHandlers } from "./file/file-service.ts";
import { imageRoutes } from "./file/images.ts";
import { arrivalsFolder } from "./file/open-store.ts";
import { removal } from "./file/remove-stored.ts";
import type { FileStore } from "./file/store.ts";
import { sweeping } from "./file/sweep.ts";
import { startSweepingArrivals } from "./file/sweep-arrivals.ts";
import { submissionFileOpener } from "./form/open-submission-file.ts";
import { defaultThemes } from "./theme/default-themes.ts";
import { themeHandlers } from "./theme/theme.ts";
import { type ThemeHtml, themeHtml } from "./theme/theme-html.ts";
import { transferRoutes } from "./web/transfer.ts";
import type { WebParts } from "./web/web.ts";

/** The servers of remote assets get no longer to say what they have. */
const MEASURE_TIMEOUT_MS = 3_000;

/** All that has bytes in the store: uploads, assets and themes, and the routes by which bytes come and go. */
export async function openFiles(
  { config, database, outbox, log }: Foundation<ContentConfig>,
  context: ResourceContext,
  { forms, store }: { forms: Repository<Form>; store: FileStore },
): Promise<
  Required<Pick<Parts, "services" | "work" | "jobs">> & {
    routes: Pick<WebParts, "transfer" | "images">;
    theme: ThemeHtml;
    /** Where uploads lie until they are taken. */
    arrivals: string;
  }
> {
  const { PUBLIC_URL: publicUrl, UPLOAD_BYTES_MAX: bytesMax, UPLOADS_BYTES_MAX: allBytesMax } = config;
  const userBytesMax = config.UPLOADS_USER_BYTES_MAX;
  const arrivals = arrivalsFolder(config);
  const themes = await defaultThemes();
  const outbound = createOutbound({ allowed: config.OUTBOUND_ALLOW_CIDRS, timeoutMs: MEASURE_TIMEOUT_MS });
  const verifyActor = actorVerifier(config.ACTOR_PUBLIC_KEYS, "content");
  const files = { database, store, arrivals, log };
  return {
    services: [
      implementStandard(AssetService, assets(context, publicUrl)),
      implement(FileService, fileHandlers(database)),
      implement(ThemeService, themeHandlers(database, themes)),
    ],
    work: {
      "file store": { stop: store.close },
      outbound: { stop: outbound.close },
      "arrivals sweep": startSweepingArrivals(arrivals, log),
    },
    jobs: [removal(database, store, log), sweeping(files), measuring({ database, outbox, outbound, log })],
    arrivals,
    theme: themeHtml({ database, store, defaults: themes }),
    routes: {
      transfer: transferRoutes({
        ...files,
        publicUrl,
        bytesMax,
        allBytesMax,
        userBytesMax,
        defaults: themes,
        verifyActor,
        openSubmissionFile: submissionFileOpener(database, forms, store),
        answerOnce: answerOnceIn(database),
      }),
      images: imageRoutes(database, store),
    },
  };
}
