import type { Bus } from "@tidings/bus/connect";
import { consume } from "@tidings/bus/consume";
import { webhookFanOut } from "@tidings/bus/streams";
import type { Webhook } from "@tidings/proto/tidings/webhook/v1/webhook";
import { actorSigner } from "@tidings/rpc/actor";
import { isOutage } from "@tidings/rpc/outage";
import type { Log } from "@tidings/runtime/log";
import type { Database } from "@tidings/store/database";
import { keepDeadLetter } from "@tidings/store/dead-letter";
import type { Repository } from "@tidings/store/repository";
import type { WebhookConfig } from "./config.ts";
import { connectContacts } from "./contacts.ts";
import { startDelivering } from "./deliver.ts";
import { createFanOut } from "./fan-out.ts";
import { createOutbound } from "./outbound.ts";
import { startPurging } from "./purge.ts";
import { createUnpublish } from "./unpublish.ts";

export interface PipelineOptions {
  config: WebhookConfig;
  database: Database;
  bus: Bus;
  webhooks: Repository<Webhook>;
  log: Log;
}

/** Everything from an event to the answer of a receiver. */
export function startPipeline({ config, database, bus, webhooks, log }: PipelineOptions) {
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
    siteUrl: config.SITE_URL,
    unpublish: createUnpublish(database, webhooks, log),
  });
  const contacts = connectContacts(config.CONTACT_ADDRESS, actorSigner(config.ACTOR_PRIVATE_KEY, "contact"));
  const consumption = consume(bus, {
    durable: webhookFanOut,
    handle: createFanOut({
      database,
      renderContacts: contacts.renderContacts,
      renderCompanies: contacts.renderCompanies,
      triggerPrefix: config.TRIGGER_PREFIX,
      firstDelaySeconds: schedule[0] ?? 0,
      onDeliveries: deliverer.nudge,
    }),
    isOutage,
    deadLetter: (letter) => keepDeadLetter(database, webhookFanOut.name, letter),
  });
  return {
    async stop(): Promise<void> {
      await consumption.stop();
      contacts.close();
      await deliverer.stop();
      await outbound.close();
      purging.stop();
    },
  };
}
