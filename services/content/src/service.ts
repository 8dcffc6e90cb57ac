import { partitionUpkeep } from "@tidings/jobs/partitions";
import { segments } from "@tidings/projection/segments";
import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { CategoryService } from "@tidings/proto/tidings/content/v1/category_service";
import { DynamicContentSchema } from "@tidings/proto/tidings/content/v1/dynamic_content";
import { DynamicContentService } from "@tidings/proto/tidings/content/v1/dynamic_content_service";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { EmailService } from "@tidings/proto/tidings/content/v1/email_service";
import { FocusItemSchema, FocusMethodService } from "@tidings/proto/tidings/content/v1/focus_item";
import { FocusItemService } from "@tidings/proto/tidings/content/v1/focus_item_service";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { MarketingMessageSchema } from "@tidings/proto/tidings/content/v1/marketing_message";
import { MarketingMessageService } from "@tidings/proto/tidings/content/v1/marketing_message_service";
import { NotificationSchema } from "@tidings/proto/tidings/content/v1/notification";
import { NotificationService } from "@tidings/proto/tidings/content/v1/notification_service";
import { PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { PageService } from "@tidings/proto/tidings/content/v1/page_service";
import { SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { SmsService } from "@tidings/proto/tidings/content/v1/sms_service";
import { TweetSchema } from "@tidings/proto/tidings/content/v1/tweet";
import { TweetService } from "@tidings/proto/tidings/content/v1/tweet_service";
import { implementResource, implementStandard } from "@tidings/resource/implement-resource";
import { resourceSnapshots } from "@tidings/resource/snapshots";
import { visibleRows } from "@tidings/resource/visible-rows";
import { implement } from "@tidings/rpc/server";
import { serveHttp } from "@tidings/runtime/http-server";
import { visibleFinder } from "@tidings/service/find-visible";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { assetAddresses } from "./asset/asset-address.ts";
import { assetRoutes } from "./asset/asset-routes.ts";
import { downloadFacts } from "./asset/download-facts.ts";
import { downloadRecorder } from "./asset/record-downloads.ts";
import { browserScript } from "./browser-folder.ts";
import { categories } from "./category/category.ts";
import type { ContentConfig } from "./config.ts";
import { references } from "./family/references.ts";
import { focusItems, focusMethods } from "./focus/focus-item.ts";
import { contactFields } from "./form/contact-field.ts";
import { formRoutes } from "./form/form-routes.ts";
import { formsInPages } from "./form/personal-form.ts";
import { openForms } from "./form/service.ts";
import { SUBMISSION_TOTAL } from "./form/submission-tables.ts";
import { contactsOfSubmissions } from "./form/upkeep.ts";
import { dynamicContents } from "./message/dynamic-content.ts";
import { emails } from "./message/email.ts";
import { forgetSegments } from "./message/forget.ts";
import { marketingMessages } from "./message/marketing-message.ts";
import { notifications } from "./message/notification.ts";
import { smses } from "./message/sms.ts";
import { pages } from "./page/page.ts";
import { pageRenderer } from "./page/page-html.ts";
import { pageRoutes } from "./page/page-routes.ts";
import { shownRecorder } from "./slot/record-shown.ts";
import { slotRoutes } from "./slot/slot-routes.ts";
import { openFiles } from "./uploads.ts";
import { openVisits } from "./visit/service.ts";
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

/** Categories, and everything that is shown or sent to people. */
export async function openContentService(foundation: Foundation<ContentConfig>): Promise<Parts> {
  const { config, database, outbox, upstreams, tls } = foundation;
  const visible = NAMEABLE.map((schema) => visibleRows(database, schema));
  const findVisible = visibleFinder({ own: visible, upstreams, dialect: config.API_DIALECT });
  const context = { database, outbox, references: references(database), findVisible };
  const visits = await openVisits(foundation);
  const forms = openForms(foundation, context, visits.ids);
  const focuses = focusItems(context);
  const files = await openFiles(foundation, context);
  const address = { port: config.WEB_PORT, host: config.INTERNAL_ADDRESS, tls };
  const formOptions = {
    submitting: forms.submitting,
    settings: visits.settings,
    bytesMax: config.FORM_BYTES_MAX,
    tokenKeys: config.PUBLIC_TOKEN_KEYS,
    script: browserScript("form.js"),
    scriptUrl: new URL("/form/script.js", config.PUBLIC_URL).href,
    theme: files.theme,
  };
  const { settings, contacts, ids, recordHit, see, fields } = visits;
  const recordDownload = downloadRecorder({ database, outbox, ids });
  const recordShown = shownRecorder({ database, outbox });
  const render = pageRenderer({
    database,
    settings,
    theme: files.theme,
    assetAddress: assetAddresses(database, config.PUBLIC_URL),
    formMarkup: formsInPages(formOptions),
  });
  const visitors = [
    ...visits.routes,
    formRoutes(formOptions),
    slotRoutes({ database, settings, see, contacts, recordShown }),
    assetRoutes({ database, store: files.store, settings, recordDownload }),
    // Each path that is nothing else may be the alias of a page.
    pageRoutes({ database, settings, recordHit, fields, contacts, recordShown, render }),
  ];
  const partitioned = [
    { table: SUBMISSION_TOTAL.table },
    { table: "asset_downloads" },
    ...visits.partitioned,
  ];
  const web = await serveHttp(address, webApp({ log: foundation.log, ...files.routes, visitors }));
  return {
    services: [
      ...visits.services,
      ...forms.services,
      ...files.services,
      implementStandard(CategoryService, categories(context)),
      implementStandard(DynamicContentService, dynamicContents(context)),
      implementStandard(EmailService, emails(context)),
      implementStandard(FocusItemService, focuses),
      implement(FocusMethodService, focusMethods(focuses, forms.rows)),
      implementStandard(MarketingMessageService, marketingMessages(context)),
      implementStandard(NotificationService, notifications(context)),
      implementStandard(PageService, pages(context)),
      implementStandard(SmsService, smses(context)),
      implementResource(TweetService, context),
    ],
    work: { ...forms.work, ...files.work, ...visits.work, "public web": { stop: web.drain } },
    jobs: [
      ...forms.jobs,
      ...files.jobs,
      ...visits.jobs,
      partitionUpkeep(database, foundation.log, partitioned),
    ],
    facts: [...visits.facts, downloadFacts(database)],
    snapshots: [CategorySchema, EmailSchema, FormSchema].map((schema) => resourceSnapshots(database, schema)),
    visible,
    projections: [segments(forgetSegments), contactFields, contactsOfSubmissions, ...visits.projections],
  };
}
