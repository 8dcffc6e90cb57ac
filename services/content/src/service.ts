import type { Database } from "@tidings/database/database";
import type { FactSource } from "@tidings/messaging/facts";
import { segments } from "@tidings/projection/segments";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { FocusItemService } from "@tidings/proto/tidings/content/v1/focus_item_service";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { MarketingMessageService } from "@tidings/proto/tidings/content/v1/marketing_message_service";
import { NotificationService } from "@tidings/proto/tidings/content/v1/notification_service";
import { TweetService } from "@tidings/proto/tidings/content/v1/tweet_service";
import { resourceSnapshots } from "@tidings/resource/snapshots";
import { serveHttp } from "@tidings/runtime/http-server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { DOWNLOADS } from "./asset/record-downloads.ts";
import { TEXT_KINDS } from "./channels.ts";
import type { ContentConfig } from "./config.ts";
import { forgetSegments } from "./family/forget.ts";
import { FOCUS_FACTS } from "./focus/focus-fact.ts";
import { contactFields } from "./form/contact-field.ts";
import { contactsOfSubmissions } from "./form/upkeep.ts";
import { implementations } from "./implementations.ts";
import { NOTIFICATION_FACTS } from "./notification/notification-kind.ts";
import { type Modules, openModules, openSharedParts, type SharedParts } from "./open-modules.ts";
import { publicRoutes } from "./public-routes.ts";
import { retentions } from "./retentions.ts";
import { EMAIL_BROADCASTS, SMS_BROADCASTS } from "./send/broadcast-kind.ts";
import { choiceSnapshots } from "./send/category-choices.ts";
import { OPEN_DEVICES } from "./send/open-devices.ts";
import { openSender, openSendingProcess, watchSends } from "./sender.ts";
import { SHOWN_CONTENTS } from "./slot/shown-fact.ts";
import { TWEET_FACTS } from "./tweet/tweet-kind.ts";
import { VIDEO_HITS } from "./video/video-hit.ts";
import { listedFacts } from "./visit/fact-kind.ts";
import { webApp } from "./web/web.ts";

/** Categories, and everything that is shown or sent to people. */
export async function openContentService(foundation: Foundation<ContentConfig>): Promise<Parts> {
  const { config, database, log, tls, isStopping } = foundation;
  if (config.CONTENT_ROLE === "send") return openSendingProcess(foundation);
  const shared = await openSharedParts(foundation);
  const modules = await openModules(foundation, shared);
  const { visits, visible, mail } = shared;
  const { forms, files, sends, callbacks, kept, notices } = modules;
  const sender =
    config.CONTENT_ROLE === "all" ? openSender(foundation, mail, modules.channels) : { work: {}, jobs: [] };
  const address = { port: config.WEB_PORT, host: config.INTERNAL_ADDRESS, tls, isLeaving: isStopping };
  const visitors = publicRoutes(foundation, shared, modules);
  const web = await serveHttp(address, webApp({ log, ...files.routes, visitors }));
  return {
    services: implementations(foundation, shared, modules),
    // Creations that change nothing which another one reads.
    sharedWrites: [
      FocusItemService.method.createFocusItem,
      MarketingMessageService.method.createMarketingMessage,
      NotificationService.method.createNotification,
      TweetService.method.createTweet,
    ],
    ports: { web: web.port },
    work: {
      ...forms.work,
      ...files.work,
      ...visits.work,
      ...sender.work,
      ...callbacks.work,
      ...kept.work,
      "metrics of sends": watchSends(database),
      "public web": { stop: web.drain },
    },
    jobs: [
      ...forms.jobs,
      ...files.jobs,
      ...visits.jobs,
      ...sender.jobs,
      ...sends.jobs,
      ...TEXT_KINDS.map(({ replays }) => replays.jobs({ database, log, wake: mail.wake })),
      ...notices.jobs,
      ...callbacks.jobs,
      ...retentions(foundation),
    ],
    shownJobs: [EMAIL_BROADCASTS.jobs, SMS_BROADCASTS.jobs],
    facts: factsOf(database, shared, modules),
    snapshots: [
      ...[CategorySchema, EmailSchema, FormSchema].map((schema) => resourceSnapshots(database, schema)),
      choiceSnapshots(database),
    ],
    visible,
    projections: [
      segments(forgetSegments),
      contactFields,
      contactsOfSubmissions,
      ...notices.projections,
      ...visits.projections,
    ],
  };
}

function factsOf(
  database: Database,
  { visits }: SharedParts,
  { sends, texts, replies }: Modules,
): FactSource[] {
  return [
    ...visits.facts,
    ...sends.facts,
    ...texts.facts,
    TWEET_FACTS.source(database),
    NOTIFICATION_FACTS.source(database),
    ...replies.facts,
    listedFacts(database, DOWNLOADS),
    listedFacts(database, FOCUS_FACTS),
    listedFacts(database, VIDEO_HITS),
    listedFacts(database, OPEN_DEVICES),
    listedFacts(database, SHOWN_CONTENTS),
  ];
}
