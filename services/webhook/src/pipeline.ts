import type { Bus } from "@tidings/bus/connect";
import type { Consumption } from "@tidings/bus/consume";
import type { Database } from "@tidings/database/database";
import { electLeader } from "@tidings/database/leader";
import { consumeEvents } from "@tidings/messaging/consume-events";
import { createOutbound } from "@tidings/outbound/outbound";
import { SendMethodService } from "@tidings/proto/tidings/content/v1/send";
import type { Webhook } from "@tidings/proto/tidings/webhook/v1/webhook";
import type { Repository } from "@tidings/resource/repository-options";
import type { Log } from "@tidings/runtime/log";
import type { SecretBox } from "@tidings/secrets/secret-box";
import type { Upstreams } from "@tidings/service/upstreams";
import type { WebhookConfig } from "./config.ts";
import { startDelivering } from "./deliver.ts";
import { fanOut, fanOutOfContent } from "./durables.ts";
import { createFanOut } from "./fan-out.ts";
import { subjectsIn } from "./occurrences-of.ts";
import { startPurging } from "./purge.ts";
import { contactService, recordWriter } from "./records.ts";
import { mailReader } from "./sent-mails.ts";
import { createUnpublish } from "./unpublish.ts";

export interface PipelineOptions {
  config: WebhookConfig;
  database: Database;
  bus: Bus;
  webhooks: Repository<Webhook>;
  box: SecretBox;
  log: Log;
  upstreams: Upstreams;
}

/** Everything from an event to the answer of a receiver. */
export function startPipeline({ config, database, bus, webhooks, box, log, upstreams }: PipelineOptions) {
  const schedule = config.WEBHOOK_SCHEDULE;
  const purging = startPurging(database, log);
  const outbound = createOutbound({
    allowed: config.OUTBOUND_ALLOW_CIDRS,
    timeoutMs: config.WEBHOOK_TIMEOUT * 1000,
  });
  const deliverer = startDelivering({
    database,
    log,
    outbound,
    schedule,
    box,
    publicUrl: config.PUBLIC_URL,
    unpublish: createUnpublish(database, webhooks, log),
  });
  const handle = createFanOut({
    database,
    records: recordWriter(database, contactService(upstreams)),
    mails: mailReader(upstreams.client("content", SendMethodService)),
    firstDelaySeconds: schedule[0] ?? 0,
    onDeliveries: deliverer.nudge,
  });
  let consumptions: Consumption[] = [];
  const stopConsuming = () => Promise.all(consumptions.map((consumption) => consumption.stop()));
  // One process at a time: the order in which deliveries are made is that of the events.
  const leadership = electLeader({
    url: config.DATABASE_URL,
    name: "fan-out",
    log,
    onChange(isLeader) {
      void stopConsuming();
      const durables = isLeader ? [fanOut, fanOutOfContent] : [];
      consumptions = durables.map((durable) =>
        consumeEvents({ database, bus, durable: { ...durable, subjects: subjectsIn(durable) }, handle }),
      );
    },
  });
  return {
    async stop(): Promise<void> {
      await stopConsuming();
      await leadership.stop();
      await deliverer.stop();
      await outbound.close();
      purging.stop();
    },
  };
}
