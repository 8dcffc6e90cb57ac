import { definitionProjections } from "@tidings/contacts/definitions";
import { categories } from "@tidings/projection/categories";
import { fatesAlone } from "@tidings/projection/contact-fates";
import { TriggerService } from "@tidings/proto/tidings/webhook/v1/trigger";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook_service";
import { implementStandard } from "@tidings/resource/implement-resource";
import { implement } from "@tidings/rpc/server";
import { startSealing } from "@tidings/secrets/sealing";
import { secretBox } from "@tidings/secrets/secret-box";
import type { Foundation, Parts } from "@tidings/service/start-service";
import type { WebhookConfig } from "./config.ts";
import { ownerProjections } from "./owners.ts";
import { startPipeline } from "./pipeline.ts";
import { webhookSecrets } from "./secrets.ts";
import { OWN_PREFIX, prefixedTriggers } from "./triggers.ts";
import { webhookRepository } from "./webhook.ts";

/** Webhooks, and everything from an event to the answer of their receivers. */
export async function openWebhookService({
  config,
  database,
  outbox,
  bus,
  log,
  upstreams,
}: Foundation<WebhookConfig>): Promise<Parts> {
  const box = secretBox(config.WEBHOOK_SECRET_KEYS);
  const triggerPrefix = config.TRIGGER_PREFIX ?? (config.API_DIALECT === "mautic" ? "mautic" : OWN_PREFIX);
  const rules = { allowed: config.OUTBOUND_ALLOW_CIDRS, box, triggerPrefix };
  const webhooks = webhookRepository({ database, outbox, log }, rules);
  return {
    services: [
      implementStandard(WebhookService, webhooks),
      implement(TriggerService, {
        listTriggers: () => ({ triggers: prefixedTriggers(triggerPrefix) }),
      }),
    ],
    work: {
      sealing: startSealing(database, webhookSecrets, { box, log }),
      pipeline: startPipeline({ config, database, bus, webhooks, box, log, upstreams }),
    },
    projections: [...ownerProjections, ...definitionProjections, categories(["webhooks"]), fatesAlone],
  };
}
