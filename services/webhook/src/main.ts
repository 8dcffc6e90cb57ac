import { webhookStream } from "@tidings/bus/streams";
import { startService } from "@tidings/service/start-service";
import { webhookConfig } from "./config.ts";
import { migrations } from "./migrations.ts";
import { openWebhookService } from "./service.ts";

const config = webhookConfig(process.env);
await startService({ name: "webhook", config, stream: webhookStream, migrations }, openWebhookService);
