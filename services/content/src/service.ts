import { runJobs } from "@tidings/jobs/run-jobs";
import { segments } from "@tidings/projection/segments";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { CategoryService } from "@tidings/proto/tidings/content/v1/category_service";
import { DynamicContentService } from "@tidings/proto/tidings/content/v1/dynamic_content_service";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { EmailService } from "@tidings/proto/tidings/content/v1/email_service";
import { FocusItemService } from "@tidings/proto/tidings/content/v1/focus_item_service";
import { FormMethodService, FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { FormService } from "@tidings/proto/tidings/content/v1/form_service";
import { MarketingMessageService } from "@tidings/proto/tidings/content/v1/marketing_message_service";
import { NotificationService } from "@tidings/proto/tidings/content/v1/notification_service";
import { PageService } from "@tidings/proto/tidings/content/v1/page_service";
import { SmsService } from "@tidings/proto/tidings/content/v1/sms_service";
import { SubmissionService } from "@tidings/proto/tidings/content/v1/submission";
import { TweetService } from "@tidings/proto/tidings/content/v1/tweet_service";
import { actorSigner } from "@tidings/rpc/actor";
import { implement } from "@tidings/rpc/server";
import { serveHttp } from "@tidings/runtime/http-server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { implementResource } from "@tidings/store/implement-resource";
import { resourceSnapshots } from "@tidings/store/snapshots";
import { standardHandlers } from "@tidings/store/standard-handlers";
import { startTotals } from "@tidings/store/totals";
import { categories } from "./category.ts";
import type { ContentConfig } from "./config.ts";
import { dynamicContents } from "./dynamic-content.ts";
import { emails } from "./email.ts";
import { focusItems } from "./focus-item.ts";
import { forgetSegments } from "./forget.ts";
import { formMethods, forms } from "./form/form.ts";
import { submissionHandlers } from "./form/submission.ts";
import { SUBMISSION_TOTAL } from "./form/submission-tables.ts";
import { connectSubmitters } from "./form/submitter.ts";
import { contactsOfSubmissions, submissionUpkeep } from "./form/upkeep.ts";
import { marketingMessages } from "./marketing-message.ts";
import { notifications } from "./notification.ts";
import { pages } from "./page.ts";
import { references } from "./references.ts";
import { smses } from "./sms.ts";
import { webApp } from "./web.ts";

/** Categories, and everything that is shown or sent to people. */
export async function openContentService({
  config,
  database,
  outbox,
  log,
}: Foundation<ContentConfig>): Promise<Parts> {
  const context = { database, outbox, references: references(database) };
  const web = await serveHttp({ port: config.WEB_PORT, host: config.INTERNAL_ADDRESS }, webApp());
  const formRows = forms(context);
  const submitters = connectSubmitters(
    config.CONTACT_ADDRESS,
    actorSigner(config.ACTOR_PRIVATE_KEY, "contact"),
  );
  return {
    services: [
      implement(CategoryService, standardHandlers(CategoryService, categories(context))),
      implement(DynamicContentService, standardHandlers(DynamicContentService, dynamicContents(context))),
      implement(EmailService, standardHandlers(EmailService, emails(context))),
      implement(FocusItemService, standardHandlers(FocusItemService, focusItems(context))),
      implement(FormService, standardHandlers(FormService, formRows)),
      implement(FormMethodService, formMethods(formRows)),
      implement(SubmissionService, submissionHandlers(context, formRows, submitters.submittersOf)),
      implement(
        MarketingMessageService,
        standardHandlers(MarketingMessageService, marketingMessages(context)),
      ),
      implement(NotificationService, standardHandlers(NotificationService, notifications(context))),
      implement(PageService, standardHandlers(PageService, pages(context))),
      implement(SmsService, standardHandlers(SmsService, smses(context))),
      implementResource(TweetService, context),
    ],
    work: {
      "public web": { stop: web.drain },
      submitters: { stop: submitters.close },
      "submission upkeep": runJobs(submissionUpkeep(database, log)),
      "submission totals": startTotals(database, outbox, log, [SUBMISSION_TOTAL]),
    },
    snapshots: [CategorySchema, EmailSchema, FormSchema].map((schema) => resourceSnapshots(database, schema)),
    projections: [segments(forgetSegments), contactsOfSubmissions],
  };
}
