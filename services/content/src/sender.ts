import { constants, setPriority } from "node:os";
import type { Database } from "@tidings/database/database";
import type { Claimed } from "@tidings/jobs/queue";
import { startWork } from "@tidings/jobs/work";
import { addSource } from "@tidings/runtime/scrape";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { assetAddresses } from "./asset/asset-address.ts";
import { marksOf } from "./callback/marks.ts";
import { type MessageSend, messageQueue } from "./chain/message-queue.ts";
import { nextChannel, type Step } from "./chain/next-channel.ts";
import { recordSteps } from "./chain/record-steps.ts";
import { type Channels, openChannels, TEXT_KINDS } from "./channels.ts";
import type { ContentConfig } from "./config.ts";
import { openStore } from "./file/open-store.ts";
import { inboxJobs } from "./inbox/read-inbox.ts";
import { noticeLane } from "./notice/notice-queue.ts";
import { askForNotice, recordNotices, writeNotice } from "./notice/send-notices.ts";
import { openMailRates } from "./rate/mail-rates.ts";
import { numberConsentJobs } from "./reply/number-consents.ts";
import { addressRefusalJobs } from "./send/address-refusals.ts";
import { addBroadcast, broadcastJobs } from "./send/broadcast.ts";
import type { WrittenSend } from "./send/compose-send.ts";
import { type MessageSenderOptions, messagePreparer } from "./send/hand-over.ts";
import { type MailParts, mailParts, SENDS_CHOSEN } from "./send/mail-parts.ts";
import { addressNoter } from "./send/note-address.ts";
import { recordSends } from "./send/record-sends.ts";
import { refusalJobs } from "./send/refusals.ts";
import { type RunSendsOptions, type SendLane, startLane } from "./send/run-sends.ts";
import { EMAIL_SCHEDULE, SMS_SCHEDULE } from "./send/schedule.ts";
import { sendsSource } from "./send/send-metrics.ts";
import { bulkLane, directLane } from "./send/send-queue.ts";
import { writeSend } from "./send/write-send.ts";
import { stopLimits } from "./stop-limit.ts";
import { addSmsBroadcast, smsBroadcastJobs } from "./text/sms-broadcast.ts";
import type { TextSend } from "./text/text-queue.ts";
import type { TextSending, TextWay } from "./text/text-sending.ts";
import { countryOf } from "./text/transport-url.ts";
import { pageAddresses } from "./web/page-address.ts";

const MESSAGES = { name: "send_message", queue: messageQueue };

/** Has each scrape look up how sends stand, in every process: those that send may be away. */
export function watchSends(database: Database): { stop(): void } {
  const ofChannels = TEXT_KINDS.flatMap(({ lanes }) => lanes);
  const lanes = [directLane, bulkLane, noticeLane, ...ofChannels, MESSAGES];
  return { stop: addSource(sendsSource(database, lanes)) };
}

/** Sends that begin by themselves. */
const OF_ITSELF = { recipientsMax: undefined, createdBy: null };

type Sender = Required<Pick<Parts, "work" | "jobs">>;

/** A process that sends and serves nobody: a broadcast slows no page. On a machine with others it has the CPU that they leave. */
export async function openSendingProcess(foundation: Foundation<ContentConfig>): Promise<Parts> {
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  const { config, database } = foundation;
  const { PUBLIC_URL: publicUrl, PAGE_PREFIXES: prefixes } = config;
  const mail = mailParts(foundation, {
    store: await openStore(config),
    addresses: pageAddresses(database, { publicUrl, prefixes }),
    assetAddress: assetAddresses(database, publicUrl),
  });
  const { work, jobs } = openSender(foundation, mail, openChannels(foundation, mail));
  return { services: [], work: { ...work, "metrics of sends": watchSends(database) }, jobs };
}

/** Chooses recipients and sends what is due, until it is stopped. Any number of processes may do so side by side. */
export function openSender(
  foundation: Foundation<ContentConfig>,
  mail: MailParts,
  channels: Channels,
): Sender {
  const { config, database, outbox, log, upstreams, bus } = foundation;
  const sendings = Object.values(channels);
  const mails = mail.way && startMailLanes(foundation, mail, mail.way);
  const lanes = [
    ...(mails?.lanes ?? []),
    ...sendings.flatMap((sending) =>
      sending.way ? startTextLanes(foundation, mail, sending, sending.way) : [],
    ),
    startMessages(foundation, mail, channels),
  ];
  const wakeLanes = () => {
    for (const lane of lanes) lane.nudge();
  };
  const broadcasting = { database, outbox, log, upstreams, wake: wakeLanes };
  const country = countryOf(config.SMS_URL);
  const broadcasts = [
    broadcastJobs(broadcasting),
    smsBroadcastJobs({ ...broadcasting, render: channels.sms.render, country }),
  ];
  bus.onNudge(SENDS_CHOSEN, () => {
    wakeLanes();
    for (const { jobs } of broadcasts) jobs.wake();
  });
  return {
    work: {
      sends: {
        async stop() {
          const stopped = Promise.all(lanes.map((lane) => lane.stop()));
          mails?.rates.stop();
          await stopped;
          mail.way?.transport.close();
          await Promise.all(sendings.map(({ way }) => way?.transport.close()));
        },
      },
    },
    jobs: [
      refusalJobs(database, log, upstreams),
      addressRefusalJobs(database, log, upstreams),
      numberConsentJobs(database, log, { upstreams, country }),
      EMAIL_SCHEDULE.jobs(database, log, (transaction, emailId, segmentIds) =>
        addBroadcast(transaction, { emailId, segmentIds, ...OF_ITSELF, isScheduled: true }),
      ),
      SMS_SCHEDULE.jobs(database, log, (transaction, smsId, segmentIds) =>
        addSmsBroadcast(transaction, { smsId, segmentIds, ...OF_ITSELF }),
      ),
      ...broadcasts,
      ...inboxReading(foundation, mail),
    ],
  };
}

/** None where there is no inbox. */
function inboxReading({ config, database, outbox, log }: Foundation<ContentConfig>, mail: MailParts) {
  const { MAIL_INBOX_URL: inbox } = config;
  const { returnAddresses: addresses } = mail.rendering.links;
  return inbox && addresses ? [inboxJobs({ database, outbox, log, inbox, addresses })] : [];
}

/** Marketing messages that are given to channels at a time. */
const MESSAGES_AT_ONCE = 200;
const MESSAGES_HELD_MAX = 1_000;
const MESSAGES_POLL_MS = 1_000;

/** Gives marketing messages to their channels, also where none of these has a transport: then nobody waits for them. */
function startMessages(
  { database, outbox, log }: Foundation<ContentConfig>,
  { rendering: { contacts }, askContactable, wake, way }: MailParts,
  channels: Channels,
) {
  const hasMailTransport = way !== undefined;
  const step = nextChannel({ database, log, contacts, askContactable, hasMailTransport, channels });
  return startWork<MessageSend, Step>({
    ...{ database, log, name: "send_message", queue: messageQueue },
    attempt: step,
    isFailure: ({ delaySeconds }) => delaySeconds !== undefined,
    record: (results) => recordSteps({ database, outbox, wake }, results),
    ...{ share: MESSAGES_AT_ONCE, atOnce: MESSAGES_AT_ONCE },
    ...{ inFlightMax: MESSAGES_HELD_MAX, pollMs: MESSAGES_POLL_MS },
  });
}

/** Messages of a lane that a process gives to the provider of a channel at a time. */
const TEXTS_AT_ONCE = 16;

function startTextLanes(
  { config, database, outbox, log }: Foundation<ContentConfig>,
  { wake }: MailParts,
  { kind, ask }: TextSending,
  { transport, write }: TextWay,
) {
  const noteAddress = addressNoter(database, kind.channel.table);
  const options: RunSendsOptions<TextSend> = {
    ...{ database, log, connections: TEXTS_AT_ONCE, stopLimitMs: stopLimits(config).mails },
    prepare: messagePreparer({
      log,
      write,
      handOver: transport.handOver,
      async ask(send, address) {
        if (kind.channel.isRefusedByNumber) await noteAddress(send, address);
        return ask(send.contactId, send.isMobile);
      },
      // Limits of what a contact gets hold back each message (engines.md 9.1).
      isBulk: () => true,
    }),
    record: (results) => kind.record({ database, outbox, wake }, results),
  };
  return kind.lanes.map((lane) => startLane(lane, options));
}

function startMailLanes(
  { config, database, outbox, log }: Foundation<ContentConfig>,
  { rendering, render, attachmentsOf, askContactable, wake }: MailParts,
  { transport, connections, from, dkimKeys }: NonNullable<MailParts["way"]>,
) {
  log.info({ transports: transport.name }, "mails leave by the first transport that takes them");
  const { MAIL_RATE: rate, MAIL_DOMAIN_RATES: domainRates } = config;
  const rates = openMailRates({ database, log, rate, domainRates });
  const { links } = rendering;
  const noteAddress = addressNoter(database, "sends");
  const marks = marksOf(config.MAIL_CALLBACKS);
  const start = <S extends Claimed & { address: string | undefined }>(
    lane: SendLane<S>,
    sending: Pick<MessageSenderOptions<S, WrittenSend>, "write" | "ask" | "isBulk">,
    record: RunSendsOptions<S>["record"],
  ) =>
    startLane(lane, {
      ...{ database, log, connections, record, stopLimitMs: stopLimits(config).mails },
      takeTurn: (send) => rates.takeTurn(!sending.isBulk(send)),
      waitOf: (send) => rates.waitOf(send.address, !sending.isBulk(send)),
      prepare: messagePreparer({
        ...{ ...sending, log },
        async handOver({ address, ...mail }, mayBegin) {
          const handOver = await transport.handOver({ ...mail, mayBegin });
          rates.heed(address, handOver);
          return handOver;
        },
      }),
    });
  const sends = [directLane, bulkLane].map((lane) =>
    start(
      lane,
      {
        write: (send) => writeSend({ database, render, attachmentsOf, links, marks, from, dkimKeys }, send),
        async ask(send, address) {
          const { contactId, emailId, isBulk } = send;
          await noteAddress(send, address);
          return askContactable("email", contactId, isBulk ? emailId : undefined, address);
        },
        isBulk: (send) => send.isBulk,
      },
      (results) => recordSends({ database, outbox, wake }, results),
    ),
  );
  const notices = start(
    noticeLane,
    {
      write: (notice) => writeNotice({ database, attachmentsOf, from, dkimKeys }, notice),
      ask: (notice) => askForNotice(askContactable, notice),
      isBulk: () => false,
    },
    (results) => recordNotices(database, results),
  );
  return { lanes: [...sends, notices], rates };
}
