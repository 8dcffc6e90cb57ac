import { CategoryService } from "@tidings/proto/tidings/content/v1/category_service";
import { DynamicContentService } from "@tidings/proto/tidings/content/v1/dynamic_content_service";
import { EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { EmailService } from "@tidings/proto/tidings/content/v1/email_service";
import { FocusMethodService } from "@tidings/proto/tidings/content/v1/focus_item";
import { FocusItemService } from "@tidings/proto/tidings/content/v1/focus_item_service";
import { MarketingMessageMethodService } from "@tidings/proto/tidings/content/v1/marketing_message";
import { MarketingMessageService } from "@tidings/proto/tidings/content/v1/marketing_message_service";
import { NotificationMethodService } from "@tidings/proto/tidings/content/v1/notification";
import { NotificationService } from "@tidings/proto/tidings/content/v1/notification_service";
import { PageMethodService } from "@tidings/proto/tidings/content/v1/page";
import { PageService } from "@tidings/proto/tidings/content/v1/page_service";
import { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import { SendHoldService } from "@tidings/proto/tidings/content/v1/send_hold";
import { SmsService } from "@tidings/proto/tidings/content/v1/sms_service";
import { TweetMethodService } from "@tidings/proto/tidings/content/v1/tweet";
import { TweetService } from "@tidings/proto/tidings/content/v1/tweet_service";
import { implementResource, implementStandard } from "@tidings/resource/implement-resource";
import type { Implementation } from "@tidings/rpc/server";
import { implement } from "@tidings/rpc/server";
import type { Foundation } from "@tidings/service/start-service";
import { categories } from "./category/category.ts";
import { messageMethods } from "./chain/message-methods.ts";
import type { ContentConfig } from "./config.ts";
import { focusMethods } from "./focus/focus-item.ts";
import { dynamicContents } from "./message/dynamic-content.ts";
import { notifications } from "./message/notification.ts";
import { notificationMethods } from "./notification/notification-methods.ts";
import type { Modules, SharedParts } from "./open-modules.ts";
import { pageMethods } from "./page/page-methods.ts";
import { openSendRequests } from "./request/service.ts";
import { holdMethods } from "./send/hold-methods.ts";
import type { TextSending } from "./text/text-sending.ts";
import { tweetMethods } from "./tweet/tweet-methods.ts";

/** The RPC services that the process implements. */
export function implementations(
  foundation: Foundation<ContentConfig>,
  shared: SharedParts,
  modules: Modules,
): Implementation[] {
  const { database, outbox } = foundation;
  const { context, findVisible, linkPreview, visits, mail } = shared;
  const { forms, files, sends, notices, texts, kept, channels, testedPages, focusScript } = modules;
  const { emailRows, smsRows, messageRows, focuses } = modules;
  const ledgerOf = ({ way }: TextSending) => ({
    ...{ database, outbox, findVisible, wake: mail.wake },
    hasTransport: way !== undefined,
  });
  return [
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
  ];
}
