import { connectBus } from "@tidings/bus/connect";
import { webhookStream } from "@tidings/bus/streams";
import { WebhookService } from "@tidings/proto/tidings/webhook/v1/webhook";
import { actorVerifier } from "@tidings/rpc/actor";
import { implement, serve } from "@tidings/rpc/server";
import { createLog } from "@tidings/runtime/log";
import { run } from "@tidings/runtime/run";
import { openDatabase } from "@tidings/store/database";
import { isMigrated } from "@tidings/store/migrate";
import { createOutbox } from "@tidings/store/outbox";
import { startRelay } from "@tidings/store/relay";
import { webhookConfig } from "./config.ts";
import { migrations } from "./migrations.ts";
import { startPipeline } from "./pipeline.ts";
import { sealPlainSecrets } from "./seal-secrets.ts";
import { secretBox } from "./secret-box.ts";
import { webhookHandlers, webhookRepository } from "./webhook.ts";

const config = webhookConfig(process.env);
const log = createLog("webhook", config.LOG_LEVEL);

const options = {
  log,
  host: config.INTERNAL_ADDRESS,
  opsPort: config.OPS_PORT,
  shutdownDelayMs: config.SHUTDOWN_DELAY_MS,
};
await run(options, async ({ onStop }) => {
  const databaseUrl = config.DATABASE_URL;
  const database = openDatabase({ url: databaseUrl, connectionsMax: config.DATABASE_CONNECTIONS, log });
  onStop("database", database.close);
  const bus = connectBus({ url: config.NATS_URL, name: "webhook", replicas: config.NATS_REPLICAS, log });
  onStop("bus", bus.close);
  const outbox = createOutbox();
  const relay = startRelay({ database, databaseUrl, outbox, bus, stream: webhookStream, log });
  onStop("relay", relay.stop);

  const box = secretBox(config.WEBHOOK_SECRET_KEYS);
  const rules = { allowed: config.OUTBOUND_ALLOW_CIDRS, box, triggerPrefix: config.TRIGGER_PREFIX };
  const webhooks = webhookRepository(database, outbox, rules);
  await sealPlainSecrets(database, box);
  const pipeline = startPipeline({ config, database, bus, webhooks, box, log });
  onStop("pipeline", pipeline.stop);

  const handlers = webhookHandlers({ webhooks, rules, database, log });
  const server = await serve([implement(WebhookService, handlers)], {
    port: config.GRPC_PORT,
    host: config.INTERNAL_ADDRESS,
    log,
    verifyActor: actorVerifier(config.ACTOR_PUBLIC_KEYS, "webhook"),
    inFlightMax: 1_024,
  });
  onStop("rpc server", server.drain);

  return {
    ports: { grpc: server.port },
    isReady: async () => (await database.ping()) && (await isMigrated(database, migrations)),
  };
});
