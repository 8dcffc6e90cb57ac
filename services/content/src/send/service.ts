import { create, toBinary } from "@bufbuild/protobuf";
import { backgroundDeadline, queryable } from "@tidings/database/database";
import type { JobOptions } from "@tidings/jobs/run-jobs";
import { factSource } from "@tidings/messaging/facts";
import { ContactCommandService } from "@tidings/proto/tidings/contact/v1/command";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import { EmailSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { RpcClient } from "@tidings/rpc/client";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import { DOWNLOADS } from "../asset/record-downloads.ts";
import type { ContentConfig } from "../config.ts";
import type { MakeWinner } from "../family/make-winner.ts";
import type { ContactIds } from "../visit/contact-ids.ts";
import { fieldAliases } from "../visit/field-aliases.ts";
import type { MayFollow } from "../visit/reader-consent.ts";
import { judgedFactRecorder } from "../visit/record-facts.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { LinkPreview } from "../web/preview.ts";
import { winnerDecisions } from "./decide-winner.ts";
import { emailMethods, type SendMethods } from "./email-methods.ts";
import { emailPreviewRoutes } from "./email-preview.ts";
import { EMAIL_REPLAYS } from "./email-replays.ts";
import { clickJudgement } from "./judge-clicks.ts";
import type { MailParts } from "./mail-parts.ts";
import { openRoutes } from "./open-routes.ts";
import { preferenceCentre } from "./preference-centre.ts";
import { preferenceJobs } from "./preference-jobs.ts";
import { type PreferencesInPage, preferenceLandings } from "./preference-landing.ts";
import { openRecorder, type RecordOpen } from "./record-opens.ts";
import { trapRecorder } from "./record-traps.ts";
import { viewRecorder } from "./record-views.ts";
import { sendMethods } from "./render-again.ts";
import { sendRenderer } from "./render-send.ts";
import { replyFacts } from "./reply-events.ts";
import { emailsOfSends, FACT_COLUMNS, idsOfEmails, sendEvents, sendsOf } from "./send-facts.ts";
import { unsubscribeForms } from "./unsubscribe-form.ts";
import { unsubscribeRoutes } from "./unsubscribe-routes.ts";

interface SendParts {
  rows: Repository<Email>;
  makeWinner: MakeWinner<Email>;
  findVisible: FindVisible;
  linkPreview: LinkPreview;
  settings: VisitSettings;
  mayFollow: MayFollow;
  ids: ContactIds;
  mail: MailParts;
  preferencesInPage: PreferencesInPage;
  /** The form that a page of the public web shows to somebody who is not known. */
  formMarkup(formId: number): Promise<string | undefined>;
}

type Sends = Required<Pick<Parts, "facts" | "jobs">> & {
  routes: Router[];
  methods: SendMethods;
  /** Mails of the ledger, written again. */
  written: ReturnType<typeof sendMethods>;
};

/** The methods about sends, and the way back from a mail. */
export function openSends(foundation: Foundation<ContentConfig>, parts: SendParts): Sends {
  const { config, database, outbox, log, upstreams } = foundation;
  const { rows, makeWinner, findVisible, linkPreview, mail } = parts;
  const { rendering, render, askContactable, way, wake } = mail;
  const { links } = rendering;
  const contacts = upstreams.client("contact", ContactCommandService);
  const recordOpen = openRecorder(database, outbox);
  return {
    methods: emailMethods({
      database,
      outbox,
      rows,
      findVisible,
      askContactable,
      contacts,
      recordOpen,
      makeWinner,
      linkPreview,
      preview: {
        ...{ database, rendering, publicUrl: config.PUBLIC_URL },
        ...{
          dkimKeys: config.MAIL_DKIM_KEYS,
          tracksLinks: config.MAIL_TRACK_LINKS,
          knownFields: fieldAliases(database),
        },
      },
      hasTransport: way !== undefined,
      wake,
    }),
    written: sendMethods({ database, log, links, render }),
    jobs: jobsOf(foundation, parts),
    facts: [
      replyFacts(database),
      factSource(database, {
        type: EmailSendsSchema.typeName,
        table: "sends",
        key: "hash",
        columns: [FACT_COLUMNS],
        async eventsOf(facts) {
          const emails = await emailsOfSends(queryable(database, backgroundDeadline()), idsOfEmails(facts));
          return [toBinary(EmailSendsSchema, create(EmailSendsSchema, sendsOf(facts, emails)))];
        },
      }),
    ],
    routes: routesOf(foundation, parts, { contacts, recordOpen }),
  };
}

function jobsOf(
  { database, outbox, log, upstreams }: Foundation<ContentConfig>,
  { makeWinner, ids, mail: { wake } }: SendParts,
): JobOptions[] {
  return [
    EMAIL_REPLAYS.jobs({
      ...{ database, log, wake },
      async publish(transaction, replayed) {
        const emails = await emailsOfSends(transaction, idsOfEmails(replayed));
        outbox.append(transaction, sendEvents("queued", replayed, emails));
      },
    }),
    winnerDecisions({ database, log, makeWinner, wake }),
    clickJudgement({
      ...{ database, outbox, log, ids },
      recordDownloads: judgedFactRecorder({ database, outbox, ids }, DOWNLOADS),
    }),
    preferenceJobs(database, log, upstreams),
  ];
}

function routesOf(
  { config, database, outbox, log }: Foundation<ContentConfig>,
  { settings, mayFollow, mail, preferencesInPage, formMarkup }: SendParts,
  { contacts, recordOpen }: { contacts: RpcClient<typeof ContactCommandService>; recordOpen: RecordOpen },
): Router[] {
  const { rendering } = mail;
  const { links } = rendering;
  const preferences = config.SHOW_PREFERENCES
    ? preferenceCentre({
        ...{ database, outbox, contacts, now: settings.now },
        landing: preferenceLandings({ database, log, preferencesInPage }),
      })
    : undefined;
  return [
    emailPreviewRoutes({ database, settings, rendering }),
    unsubscribeRoutes({
      ...{ database, links, preferences, formOf: unsubscribeForms(database, formMarkup) },
      formerSecrets: config.FORMER_UNSUBSCRIBE_SECRETS,
    }),
    openRoutes({
      database,
      log,
      settings,
      mayFollow,
      links,
      recordOpen,
      recordView: viewRecorder(database, outbox),
      recordTrap: trapRecorder(database, outbox),
      render: sendRenderer({
        ...{ ...rendering, database, tracksLinks: config.MAIL_TRACK_LINKS },
        ...{ hasPixel: false, keepsValues: false },
      }),
    }),
  ];
}
