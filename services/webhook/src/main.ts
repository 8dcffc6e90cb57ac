import { startService } from "@tidings/service/start-service";
import { webhookConfig } from "./config.ts";
import { durables } from "./durables.ts";
import { migrations } from "./migrations.ts";
import { openWebhookService } from "./service.ts";

await startService(
  { name: "webhook", config: webhookConfig(process.env), migrations, durables },
  openWebhookService,
);
