import { segments } from "@tidings/projection/segments";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { CategoryService } from "@tidings/proto/tidings/content/v1/category_service";
import { DynamicContentSchema } from "@tidings/proto/tidings/content/v1/dynamic_content";
import { DynamicContentService } from "@tidings/proto/tidings/content/v1/dynamic_content_service";
import { EmailMethodService, EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { EmailService } from "@tidings/proto/tidings/content/v1/email_service";
import { FocusItemSchema, FocusMethodService } from "@tidings/proto/tidings/content/v1/focus_item";
import { FocusItemService } from "@tidings/proto/tidings/content/v1/focus_item_service";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import {
  MarketingMessageMethodService,
  MarketingMessageSchema,
} from "@tidings/proto/tidings/content/v1/marketing_message";
import { MarketingMessageService } from "@tidings/proto/tidings/content/v1/marketing_message_service";
import {
  NotificationMethodService,
  NotificationSchema,
} from "@tidings/proto/tidings/content/v1/notification";
import { NotificationService } from "@tidings/proto/tidings/content/v1/notification_service";
import { PageMethodService, PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { PageService } from "@tidings/proto/tidings/content/v1/page_service";
import { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { SendHoldService } from "@tidings/proto/tidings/content/v1/send_hold";
import { SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { SmsService } from "@tidings/proto/tidings/content/v1/sms_service";
import { TweetMethodService, TweetSchema } from "@tidings/proto/tidings/content/v1/tweet";
import { TweetService } from "@tidings/proto/tidings/content/v1/tweet_service";
import { implementResource, implementStandard } from "@tidings/resource/implement-resource";
import { resourceSnapshots } from "@tidings/resource/snapshots";
import { visibleRows } from "@tidings/resource/visible-rows";
import { implement } from "@tidings/rpc/server";
import { serveHttp } from "@tidings/runtime/http-server";
import { publicTokens } from "@tidings/secrets/public-token";
import { visibleFinder } from "@tidings/service/find-visible";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { assetAddresses } from "./asset/asset-address.ts";
import { assetRoutes } from "./asset/asset-routes.ts";
import { DOWNLOADS } from "./asset/record-downloads.ts";
import { browserScript } from "./browser-folder.ts";
import { openCallbacks } from "./callback/service.ts";
import { categories } from "./category/category.ts";
import { messageMethods } from "./chain/message-methods.ts";
import { openChannels, TEXT_KINDS } from "./channels.ts";
import type { ContentConfig } from "./config.ts";
import { forgetSegments } from "./family/forget.ts";
import { references } from "./family/references.ts";
import { openStore } from "./file/open-store.ts";
import { FOCUS_FACTS } from "./focus/focus-fact.ts";
import { focusItems, focusMethods, itemScript } from "./focus/focus-item.ts";
import { focusRoutes } from "./focus/focus-routes.ts";
import { contactFields } from "./form/contact-field.ts";
import { submissionFileRoutes } from "./form/file-routes.ts";
import { callOf } from "./form/form-options.ts";
import { formRoutes } from "./form/form-routes.ts";
import { formsInPages, markupForNobody } from "./form/personal-form.ts";
import { openForms } from "./form/service.ts";
import { contactsOfSubmissions } from "./form/upkeep.ts";
import { openKeptMails } from "./kept/service.ts";
import { dynamicContents } from "./message/dynamic-content.ts";
import { emails } from "./message/email.ts";
import { marketingMessages } from "./message/marketing-message.ts";
import { notifications } from "./message/notification.ts";
import { smses } from "./message/sms.ts";
import { openNotices } from "./notice/service.ts";
import { NOTIFICATION_FACTS } from "./notification/notification-kind.ts";
import { notificationMethods } from "./notification/notification-methods.ts";
import { pushRoutes } from "./notification/push-routes.ts";
import { recordClicks } from "./notification/record-reads.ts";
import { pages } from "./page/page.ts";
import { pageRenderer } from "./page/page-html.ts";
import { pageMethods } from "./page/page-methods.ts";
import { pagePreviewRoutes } from "./page/page-preview.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { preferencesInPages } from "./page/preference-page.ts";
import { openReplies } from "./reply/service.ts";
import { openSendRequests } from "./request/service.ts";
import { retentions } from "./retentions.ts";
import { EMAIL_BROADCASTS, SMS_BROADCASTS } from "./send/broadcast-kind.ts";
import { holdClicks, holdDownloads } from "./send/hold-clicks.ts";
import { holdMethods } from "./send/hold-methods.ts";
import { mailParts } from "./send/mail-parts.ts";
import { OPEN_DEVICES } from "./send/open-devices.ts";
import { openSends } from "./send/service.ts";
import { openSender, openSendingProcess, watchSends } from "./sender.ts";
import { shownRecorder } from "./slot/record-shown.ts";
import { SHOWN_CONTENTS } from "./slot/shown-fact.ts";
import { slotRoutes } from "./slot/slot-routes.ts";
import { openTexts } from "./text/service.ts";
import { settleClicks } from "./text/settle-clicks.ts";
import type { TextSending } from "./text/text-sending.ts";
import { TWEET_FACTS } from "./tweet/tweet-kind.ts";
import { tweetMethods } from "./tweet/tweet-methods.ts";
import { openFiles } from "./uploads.ts";
import { videoRecorder } from "./video/record-video.ts";
import { VIDEO_HITS } from "./video/video-hit.ts";
import { videoRoutes } from "./video/video-routes.ts";
import { listedFacts } from "./visit/fact-kind.ts";
import { factRecorder } from "./visit/record-facts.ts";
import { openVisits } from "./visit/service.ts";
import { pageAddresses } from "./web/page-address.ts";
import { previewLinks } from "./web/preview.ts";
import { webApp } from "./web/web.ts";

/** Types that properties of other entities name by id. */
const NAMEABLE = [
  AssetSchema,
  CategorySchema,
  DynamicContentSchema,
  EmailSchema,
  FocusItemSchema,
  FormSchema,
  MarketingMessageSchema,
  NotificationSchema,
  PageSchema,
  SmsSchema,
  TweetSchema,
];

/** Clicks in notifications count at once, and those in text messages prove that they arrived; those in mails wait for a verdict. */
const judgeClicks: typeof holdClicks = async (transaction, outbox, hits) => {
  await recordClicks(transaction, outbox, hits);
  await settleClicks(transaction, outbox, hits);
  return holdClicks(transaction, outbox, hits);
};

/** Categories, and everything that is shown or sent to people. */
export async function openContentService(foundation: Foundation<ContentConfig>): Promise<Parts> {
  const { config, database, outbox, upstreams, tls, isStopping } = foundation;
  if (config.CONTENT_ROLE === "send") return openSendingProcess(foundation);
  const visible = NAMEABLE.map((schema) => visibleRows(database, schema));
  const findVisible = visibleFinder({ own: visible, upstreams, dialect: config.API_DIALECT });
  const context = { database, outbox, references: references(database), findVisible };
  const visits = await openVisits(foundation, judgeClicks);
  const { settings, contacts, mayFollow, ids, recordHit, see, fields } = visits;
  const { PUBLIC_URL: publicUrl } = config;
  const linkPreview = previewLinks({ tokens: settings.tokens.preview, publicUrl, findVisible });
  const addresses = pageAddresses(database, { publicUrl, prefixes: config.PAGE_PREFIXES });
  const assetAddress = assetAddresses(database, publicUrl);
  const store = await openStore(config);
  const mail = mailParts(foundation, { store, addresses, assetAddress });
  const forms = openForms(foundation, context, { ids, linkPreview, mail });
  const focuses = focusItems(context);
  const files = await openFiles(foundation, context, { forms: forms.rows, store });
  const address = { port: config.WEB_PORT, host: config.INTERNAL_ADDRESS, tls, isLeaving: isStopping };
  const formOptions = {
    submitting: forms.submitting,
    settings,
    pageAddresses: addresses,
    bytesMax: config.FORM_BYTES_MAX,
    store,
    arrivals: files.arrivals,
    tokenKeys: config.PUBLIC_TOKEN_KEYS,
    suspicion: {
      blocked: config.FORM_BLOCKED_IPS,
      shownAt: publicTokens(config.PUBLIC_TOKEN_KEYS, "form shown"),
    },
    script: browserScript("form.js"),
    scriptUrl: new URL("/form/script.js", publicUrl).href,
    theme: files.theme,
  };
  const visiting = { database, outbox, ids };
  const recordDownload = factRecorder(visiting, DOWNLOADS, holdDownloads);
  const recordShown = shownRecorder({ database, outbox });
  const { rows: emailRows, makeWinner } = emails(context);
  const smsRows = smses(context);
  const render = pageRenderer({ settings, theme: files.theme, addresses, assetAddress });
  const pageShown = { database, settings, contacts, render, formInPage: formsInPages(formOptions) };
  const channels = openChannels(foundation, mail);
  const sends = openSends(foundation, {
    ...{ rows: emailRows, makeWinner, findVisible, linkPreview, settings, mayFollow, ids, mail },
    preferencesInPage: preferencesInPages(pageShown),
    formMarkup: (id) => markupForNobody(formOptions, id),
  });
  const callbacks = openCallbacks(foundation);
  const replies = openReplies(foundation);
  const kept = openKeptMails(foundation, mail);
  const messageRows = marketingMessages(context);
  const ledgerOf = ({ way }: TextSending) => ({
    ...{ database, outbox, findVisible, wake: mail.wake },
    hasTransport: way !== undefined,
  });
  const texts = openTexts(foundation, { rows: smsRows, findVisible, mail, sending: channels.sms });
  const sender =
    config.CONTENT_ROLE === "all" ? openSender(foundation, mail, channels) : { work: {}, jobs: [] };
  const notices = openNotices(foundation, { rows: emailRows, findVisible, mail });
  const testedPages = pages(context);
  const focusScript = itemScript(forms.rows, settings);
  const visitors = [
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
    assetRoutes({ database, store, settings, mayFollow, recordDownload }),
    ...kept.routes,
    ...sends.routes,
    callbacks.routes,
    pushRoutes({ database, outbox, settings }),
    replies.route,
    pagePreviewRoutes(pageShown),
    // Each path that is nothing else may be the alias of a page.
    pageRoutes({
      ...pageShown,
      log: foundation.log,
      mayFollow,
      recordHit,
      fields,
      recordShown,
      addresses,
      ignoresStrangersAtNoPage: config.DO_NOT_TRACK_404_ANONYMOUS,
    }),
  ];
  const web = await serveHttp(address, webApp({ log: foundation.log, ...files.routes, visitors }));
  return {
    services: [
      ...visits.services,
      ...forms.services,
      ...files.services,
      implementStandard(CategoryService, categories(context)),
      implementStandard(DynamicContentService, dynamicContents(context)),
      implementStandard(EmailService, emailRows),
      implement(EmailMethodService, { ...sends.methods, ...notices.methods }),
      implement(SendHoldService, holdMethods(database, mail.wake)),
      implement(SendMethodService, { ...sends.written, ...openSendRequests(foundation, { mail, channels }) }),
      implementStandard(FocusItemService, focuses),
      implement(FocusMethodService, focusMethods(focuses, focusScript)),
      implementStandard(MarketingMessageService, messageRows),
      implement(
        MarketingMessageMethodService,
        messageMethods({ database, rows: messageRows, findVisible, wake: mail.wake }),
      ),
      implementStandard(NotificationService, notifications(context)),
      implementStandard(PageService, testedPages.rows),
      implement(PageMethodService, pageMethods({ database, linkPreview, ...testedPages })),
      implementStandard(SmsService, smsRows),
      ...texts.services,
      ...notices.services,
      ...kept.services,
      implementResource(TweetService, context),
      implement(TweetMethodService, tweetMethods(ledgerOf(channels.tweet))),
      implement(NotificationMethodService, notificationMethods(ledgerOf(channels.notification))),
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
      ...TEXT_KINDS.map(({ replays }) => replays.jobs({ database, log: foundation.log, wake: mail.wake })),
      ...notices.jobs,
      ...callbacks.jobs,
      ...retentions(foundation),
    ],
    shownJobs: [EMAIL_BROADCASTS.jobs, SMS_BROADCASTS.jobs],
    facts: [
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
    ],
    snapshots: [CategorySchema, EmailSchema, FormSchema].map((schema) => resourceSnapshots(database, schema)),
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
