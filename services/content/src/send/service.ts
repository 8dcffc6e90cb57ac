import { create, toBinary } from "@bufbuild/protobuf";
import { openTransport } from "@tidings/mail/open-transport";
import { factSource } from "@tidings/messaging/facts";
import { type Email, EmailMethodService } from "@tidings/proto/tidings/content/v1/email";
import { EmailSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import { implement } from "@tidings/rpc/server";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import type { ContentConfig } from "../config.ts";
import type { FileStore } from "../file/store.ts";
import { knownContacts } from "../visit/known-contact.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import type { PageAddresses } from "../web/page-address.ts";
import { rowIdOf } from "../web/row-id.ts";
import { attachmentReader } from "./attachments.ts";
import { broadcastJobs } from "./broadcast.ts";
import { contactableAsker } from "./contactable.ts";
import { emailMethods } from "./email-methods.ts";
import { mailLinks } from "./mail-links.ts";
import { openRoutes } from "./open-routes.ts";
import { openRecorder } from "./record-opens.ts";
import { FACT_COLUMNS, sendsOf } from "./record-sends.ts";
import { refusalJobs } from "./refusals.ts";
import { sendRenderer } from "./render-send.ts";
import { startSending } from "./run-sends.ts";
import { plannedSends } from "./schedule.ts";
import { unsubscribeRoutes } from "./unsubscribe-routes.ts";

interface SendParts {
  rows: Repository<Email>;
  findVisible: FindVisible;
  settings: VisitSettings;
  store: FileStore;
  addresses: PageAddresses;
  assetAddress(id: number): Promise<string | undefined>;
}

/** A mail waits for its values; a page does not. */
const FOR_MAILS = { waitMs: 5_000, isOptional: false };

/** Sends, and the way back from a mail. */
export function openSends(
  { config, database, outbox, log, upstreams }: Foundation<ContentConfig>,
  { rows, findVisible, settings, store, addresses, assetAddress }: SendParts,
): Required<Pick<Parts, "services" | "work" | "jobs" | "facts">> & { routes: Router[] } {
  const links = mailLinks(config.PUBLIC_TOKEN_KEYS, config.PUBLIC_URL);
  const askContactable = contactableAsker(database, upstreams);
  const recordOpen = openRecorder(database, outbox);
  const rendering = {
    database,
    contacts: knownContacts(database, upstreams, FOR_MAILS),
    links,
    addressOfPage: addresses.find,
    addressOfAsset: async (text: string) => {
      const id = rowIdOf(text);
      return id === undefined ? undefined : assetAddress(id);
    },
  };
  const { MAIL_URL: mailUrl, MAIL_FROM: from } = config;
  const sending =
    mailUrl &&
    from &&
    startSending({
      database,
      outbox,
      log,
      links,
      askContactable,
      from,
      transport: openTransport(mailUrl),
      render: sendRenderer({ ...rendering, hasPixel: config.MAIL_TRACKING_PIXEL }),
      attachmentsOf: attachmentReader(database, store),
      connections: config.MAIL_CONNECTIONS,
    });
  return {
    services: [
      implement(
        EmailMethodService,
        emailMethods({
          database,
          outbox,
          rows,
          findVisible,
          askContactable,
          recordOpen,
          previewing: rendering,
          hasTransport: sending !== undefined,
          wake: () => sending?.nudge(),
        }),
      ),
    ],
    work: sending ? { sends: { stop: sending.stop } } : {},
    jobs: [
      refusalJobs(database, log, upstreams),
      plannedSends(database, log),
      broadcastJobs({ database, outbox, log, upstreams, wake: () => sending?.nudge() }),
    ],
    facts: [
      factSource(database, {
        type: EmailSendsSchema.typeName,
        table: "sends",
        key: "hash",
        columns: FACT_COLUMNS.split(", "),
        eventsOf: (facts) => [toBinary(EmailSendsSchema, create(EmailSendsSchema, sendsOf(facts)))],
      }),
    ],
    routes: [
      unsubscribeRoutes({ database, links }),
      openRoutes({
        database,
        log,
        settings,
        links,
        recordOpen,
        render: sendRenderer({ ...rendering, hasPixel: false }),
      }),
    ],
  };
}
