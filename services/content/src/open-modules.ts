import { AssetSchema } from "@tidings/proto/tidings/content/v1/asset";
import { CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { DynamicContentSchema } from "@tidings/proto/tidings/content/v1/dynamic_content";
import { EmailSchema } from "@tidings/proto/tidings/content/v1/email";
import { FocusItemSchema } from "@tidings/proto/tidings/content/v1/focus_item";
import { FormSchema } from "@tidings/proto/tidings/content/v1/form";
import { MarketingMessageSchema } from "@tidings/proto/tidings/content/v1/marketing_message";
import { NotificationSchema } from "@tidings/proto/tidings/content/v1/notification";
import { PageSchema } from "@tidings/proto/tidings/content/v1/page";
import { SmsSchema } from "@tidings/proto/tidings/content/v1/sms";
import { TweetSchema } from "@tidings/proto/tidings/content/v1/tweet";
import { visibleRows } from "@tidings/resource/visible-rows";
import { publicTokens } from "@tidings/secrets/public-token";
import { visibleFinder } from "@tidings/service/find-visible";
import type { Foundation } from "@tidings/service/start-service";
import { assetAddresses } from "./asset/asset-address.ts";
import { browserScript } from "./browser-folder.ts";
import { openCallbacks } from "./callback/service.ts";
import { openChannels } from "./channels.ts";
import type { ContentConfig } from "./config.ts";
import { references } from "./family/references.ts";
import { openStore } from "./file/open-store.ts";
import { focusItems, itemScript } from "./focus/focus-item.ts";
import type { FormRouteOptions } from "./form/form-options.ts";
import { formsInPages, markupForNobody } from "./form/personal-form.ts";
import { openForms } from "./form/service.ts";
import { openKeptMails } from "./kept/service.ts";
import { emails } from "./message/email.ts";
import { marketingMessages } from "./message/marketing-message.ts";
import { smses } from "./message/sms.ts";
import { openNotices } from "./notice/service.ts";
import { recordClicks } from "./notification/record-reads.ts";
import { pages } from "./page/page.ts";
import { pageRenderer } from "./page/page-html.ts";
import { preferencesInPages } from "./page/preference-page.ts";
import { openReplies } from "./reply/service.ts";
import { holdClicks } from "./send/hold-clicks.ts";
import { mailParts } from "./send/mail-parts.ts";
import { openSends } from "./send/service.ts";
import { shownRecorder } from "./slot/record-shown.ts";
import { openTexts } from "./text/service.ts";
import { settleClicks } from "./text/settle-clicks.ts";
import { openFiles } from "./uploads.ts";
import { openVisits } from "./visit/service.ts";
import { pageAddresses } from "./web/page-address.ts";
import { previewLinks } from "./web/preview.ts";

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

/** The parts that several modules stand on. */
export async function openSharedParts(foundation: Foundation<ContentConfig>) {
  const { config, database, outbox, upstreams } = foundation;
  const visible = NAMEABLE.map((schema) => visibleRows(database, schema));
  const findVisible = visibleFinder({ own: visible, upstreams, dialect: config.API_DIALECT });
  const context = { database, outbox, references: references(database), findVisible };
  const visits = await openVisits(foundation, judgeClicks);
  const { PUBLIC_URL: publicUrl } = config;
  const linkPreview = previewLinks({ tokens: visits.settings.tokens.preview, publicUrl, findVisible });
  const addresses = pageAddresses(database, { publicUrl, prefixes: config.PAGE_PREFIXES });
  const assetAddress = assetAddresses(database, publicUrl);
  const store = await openStore(config);
  const mail = mailParts(foundation, { store, addresses, assetAddress });
  return { visible, findVisible, context, visits, linkPreview, addresses, assetAddress, store, mail };
}

export type SharedParts = Awaited<ReturnType<typeof openSharedParts>>;

/** The modules of the service, each with its rows, routes and jobs. */
export async function openModules(foundation: Foundation<ContentConfig>, shared: SharedParts) {
  const { database, outbox } = foundation;
  const { context, findVisible, visits, linkPreview, addresses, assetAddress, store, mail } = shared;
  const { settings, contacts, mayFollow, ids } = visits;
  const forms = openForms(foundation, context, { ids, linkPreview, mail });
  const focuses = focusItems(context);
  const files = await openFiles(foundation, context, { forms: forms.rows, store });
  const formOptions = formOptionsOf(foundation.config, shared, { forms, files });
  const { rows: emailRows, makeWinner } = emails(context);
  const render = pageRenderer({ settings, theme: files.theme, addresses, assetAddress });
  const pageShown = { database, settings, contacts, render, formInPage: formsInPages(formOptions) };
  const channels = openChannels(foundation, mail);
  const smsRows = smses(context);
  return {
    ...{ forms, focuses, files, formOptions, emailRows, smsRows, pageShown, channels },
    sends: openSends(foundation, {
      ...{ rows: emailRows, makeWinner, findVisible, linkPreview, settings, mayFollow, ids, mail },
      preferencesInPage: preferencesInPages(pageShown),
      formMarkup: (id) => markupForNobody(formOptions, id),
    }),
    callbacks: openCallbacks(foundation),
    replies: openReplies(foundation),
    kept: openKeptMails(foundation, mail),
    messageRows: marketingMessages(context),
    texts: openTexts(foundation, { rows: smsRows, findVisible, mail, sending: channels.sms }),
    notices: openNotices(foundation, { rows: emailRows, findVisible, mail }),
    testedPages: pages(context),
    focusScript: itemScript(forms.rows, settings),
    recordShown: shownRecorder({ database, outbox }),
  };
}

export type Modules = Awaited<ReturnType<typeof openModules>>;

function formOptionsOf(
  config: ContentConfig,
  { visits: { settings }, addresses, store }: SharedParts,
  { forms, files }: { forms: ReturnType<typeof openForms>; files: Awaited<ReturnType<typeof openFiles>> },
): FormRouteOptions {
  return {
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
    scriptUrl: new URL("/form/script.js", config.PUBLIC_URL).href,
    theme: files.theme,
  };
}
