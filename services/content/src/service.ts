import { join } from "node:path";
import { createOutbound } from "@tidings/outbound/outbound";
import { segments } from "@tidings/projection/segments";
import { AssetService } from "@tidings/proto/tidings/content/v1/asset_service";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { CategoryService } from "@tidings/proto/tidings/content/v1/category_service";
import { DynamicContentService } from "@tidings/proto/tidings/content/v1/dynamic_content_service";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { EmailService } from "@tidings/proto/tidings/content/v1/email_service";
import { FileService } from "@tidings/proto/tidings/content/v1/file";
import { FocusItemService } from "@tidings/proto/tidings/content/v1/focus_item_service";
import { MarketingMessageService } from "@tidings/proto/tidings/content/v1/marketing_message_service";
import { NotificationService } from "@tidings/proto/tidings/content/v1/notification_service";
import { PageService } from "@tidings/proto/tidings/content/v1/page_service";
import { SmsService } from "@tidings/proto/tidings/content/v1/sms_service";
import { ThemeService } from "@tidings/proto/tidings/content/v1/theme";
import { TweetService } from "@tidings/proto/tidings/content/v1/tweet_service";
import { actorVerifier } from "@tidings/rpc/actor";
import { implement } from "@tidings/rpc/server";
import { serveHttp } from "@tidings/runtime/http-server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { implementResource } from "@tidings/store/implement-resource";
import { resourceSnapshots } from "@tidings/store/snapshots";
import { standardHandlers } from "@tidings/store/standard-handlers";
import { assets } from "./asset/asset.ts";
import { startMeasuring } from "./asset/measure.ts";
import { categories } from "./category.ts";
import type { ContentConfig } from "./config.ts";
import { dynamicContents } from "./dynamic-content.ts";
import { emails } from "./email.ts";
import { fileHandlers } from "./file/file-service.ts";
import { imageRoutes } from "./file/images.ts";
import { openStore } from "./file/open-store.ts";
import { startRemoving } from "./file/remove-stored.ts";
import { startSweeping } from "./file/sweep.ts";
import { focusItems } from "./focus-item.ts";
import { forgetSegments } from "./forget.ts";
import { marketingMessages } from "./marketing-message.ts";
import { notifications } from "./notification.ts";
import { pages } from "./page.ts";
import { references } from "./references.ts";
import { smses } from "./sms.ts";
import { defaultThemes } from "./theme/default-themes.ts";
import { themeHandlers } from "./theme/theme.ts";
import { transferRoutes } from "./transfer.ts";
import { webApp } from "./web.ts";

/** The servers of remote assets get no longer to say what they have. */
const MEASURE_TIMEOUT_MS = 3_000;

/** Categories, and everything that is shown or sent to people. */
export async function openContentService({
  config,
  database,
  outbox,
  log,
}: Foundation<ContentConfig>): Promise<Parts> {
  const context = { database, outbox, references: references(database) };
  const { SITE_URL: siteUrl, UPLOAD_BYTES_MAX: bytesMax } = config;
  const store = await openStore(config);
  const arrivals = join(config.FILES_DIR, "arriving");
  const themes = await defaultThemes();
  const outbound = createOutbound({ allowed: config.OUTBOUND_ALLOW_CIDRS, timeoutMs: MEASURE_TIMEOUT_MS });
  const verifyActor = actorVerifier(config.ACTOR_PUBLIC_KEYS, "content");
  const files = { database, store, arrivals, log };
  const transfer = transferRoutes({ ...files, siteUrl, bytesMax, defaults: themes, verifyActor });
  const images = imageRoutes(database, store);
  const web = await serveHttp(
    { port: config.WEB_PORT, host: config.INTERNAL_ADDRESS },
    webApp({ transfer, images }),
  );
  return {
    services: [
      implement(AssetService, standardHandlers(AssetService, assets(context, siteUrl))),
      implement(CategoryService, standardHandlers(CategoryService, categories(context))),
      implement(DynamicContentService, standardHandlers(DynamicContentService, dynamicContents(context))),
      implement(EmailService, standardHandlers(EmailService, emails(context))),
      implement(FileService, fileHandlers(database)),
      implement(FocusItemService, standardHandlers(FocusItemService, focusItems(context))),
      implement(
        MarketingMessageService,
        standardHandlers(MarketingMessageService, marketingMessages(context)),
      ),
      implement(NotificationService, standardHandlers(NotificationService, notifications(context))),
      implement(PageService, standardHandlers(PageService, pages(context))),
      implement(SmsService, standardHandlers(SmsService, smses(context))),
      implement(ThemeService, themeHandlers(database, themes)),
      implementResource(TweetService, context),
    ],
    work: {
      "file store": { stop: store.close },
      outbound: { stop: outbound.close },
      "file removal": startRemoving(database, store, log),
      "file sweep": startSweeping(files),
      "asset measuring": startMeasuring({ database, outbox, outbound, log }),
      "public web": { stop: web.drain },
    },
    snapshots: [CategorySchema, EmailSchema].map((schema) => resourceSnapshots(database, schema)),
    projections: [segments(forgetSegments)],
  };
}
