import type { Bus } from "@tidings/bus/connect";
import type { Consumption } from "@tidings/bus/consume";
import { webhookFanOut, webhookFanOutContent } from "@tidings/bus/streams";
import type { Database } from "@tidings/database/database";
import { electLeader } from "@tidings/database/leader";
import { consumeEvents } from "@tidings/messaging/consume-events";
import { createOutbound } from "@tidings/outbound/outbound";
import type { Webhook } from "@tidings/proto/tidings/webhook/v1/webhook";
import type { Repository } from "@tidings/resource/repository-options";
import { actorSigner } from "@tidings/rpc/actor";
import { connect } from "@tidings/rpc/stream/connection";
import type { Log } from "@tidings/runtime/log";
import type { Tls } from "@tidings/runtime/tls";
import type { SecretBox } from "@tidings/secrets/secret-box";
import type { WebhookConfig } from "./config.ts";
import { startDelivering } from "./deliver.ts";
import { createFanOut } from "./fan-out.ts";
import { startPurging } from "./purge.ts";
import { contactService, recordWriter } from "./records.ts";
import { createUnpublish } from "./unpublish.ts";

export interface PipelineOptions {
  config: WebhookConfig;
  database: Database;
  bus: Bus;
  webhooks: Repository<Webhook>;
  box: SecretBox;
  log: Log;
  tls: Tls | undefined;
}

/** Everything from an event to the answer of a receiver. */
export function startPipeline({ config, database, bus, webhooks, box, log, tls }: PipelineOptions) {
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
  const contact = connect(config.CONTACT_ADDRESS, { tls });
  const owner = contactService(contact, actorSigner(config.ACTOR_PRIVATE_KEY, "contact"));
  const handle = createFanOut({
    database,
    records: recordWriter(database, owner),
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
      const durables = isLeader ? [webhookFanOut, webhookFanOutContent] : [];
      consumptions = durables.map((durable) => consumeEvents({ database, bus, durable, handle }));
    },
  });
  return {
    async stop(): Promise<void> {
      await stopConsuming();
      await leadership.stop();
      contact.close();
      await deliverer.stop();
      await outbound.close();
      purging.stop();
    },
  };
}
