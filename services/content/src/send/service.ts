import { create, toBinary } from "@bufbuild/protobuf";
import { factSource } from "@tidings/messaging/facts";
import type { Email } from "@tidings/proto/tidings/content/v1/email";
import { EmailSendsSchema } from "@tidings/proto/tidings/content/v1/events";
import type { FindVisible } from "@tidings/resource/needs";
import type { Repository } from "@tidings/resource/repository-options";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { Router } from "express";
import type { ContentConfig } from "../config.ts";
import type { VisitSettings } from "../visit/visit-settings.ts";
import { broadcastJobs } from "./broadcast.ts";
import { emailMethods, type SendMethods } from "./email-methods.ts";
import { mailSender } from "./hand-over.ts";
import type { MailParts } from "./mail-parts.ts";
import { openRoutes } from "./open-routes.ts";
import { openRecorder } from "./record-opens.ts";
import { FACT_COLUMNS, recordSends, sendsOf } from "./record-sends.ts";
import { refusalJobs } from "./refusals.ts";
import { sendRenderer } from "./render-send.ts";
import { startLane } from "./run-sends.ts";
import { plannedSends } from "./schedule.ts";
import { bulkLane, directLane } from "./send-queue.ts";
import { unsubscribeRoutes } from "./unsubscribe-routes.ts";
import { writeSend } from "./write-send.ts";

interface SendParts {
  rows: Repository<Email>;
  findVisible: FindVisible;
  settings: VisitSettings;
  mail: MailParts;
}

type Sends = Required<Pick<Parts, "work" | "jobs" | "facts">> & {
  routes: Router[];
  methods: SendMethods;
};

/** Sends, and the way back from a mail. */
export function openSends(
  { config, database, outbox, log, upstreams }: Foundation<ContentConfig>,
  { rows, findVisible, settings, mail }: SendParts,
): Sends {
  const { rendering, attachmentsOf, askContactable, way } = mail;
  const { links } = rendering;
  const recordOpen = openRecorder(database, outbox);
  const render = sendRenderer({ ...rendering, database, hasPixel: config.MAIL_TRACKING_PIXEL });
  const lanes = way
    ? [directLane, bulkLane].map((lane) =>
        startLane(lane, {
          database,
          log,
          connections: way.connections,
          send: mailSender({
            ...{ log, transport: way.transport, isBulk: (send) => send.isBulk },
            write: (send) => writeSend({ database, render, attachmentsOf, links, from: way.from }, send),
            ask: ({ contactId }) => askContactable("email", contactId),
          }),
          record: (results) => recordSends(database, outbox, results),
        }),
      )
    : [];
  const wake = () => {
    for (const lane of lanes) lane.nudge();
  };
  return {
    methods: emailMethods({
      database,
      outbox,
      rows,
      findVisible,
      askContactable,
      recordOpen,
      rendering,
      hasTransport: way !== undefined,
      wake,
    }),
    work: { sends: { stop: async () => void (await Promise.all(lanes.map((lane) => lane.stop()))) } },
    jobs: [
      refusalJobs(database, log, upstreams),
      plannedSends(database, log),
      broadcastJobs({ database, outbox, log, upstreams, wake }),
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
        render: sendRenderer({ ...rendering, database, hasPixel: false }),
      }),
    ],
  };
}
