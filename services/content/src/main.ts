import { startService } from "@tidings/service/start-service";
import { contentConfig } from "./config.ts";
import { durables } from "./durables.ts";
import { migrations } from "./migrations.ts";
import { openContentService } from "./service.ts";
import { stopLimits } from "./stop-limit.ts";

const config = contentConfig(process.env);
const stopLimitMs = stopLimits(config).process;
await startService({ name: "content", config, migrations, durables, stopLimitMs }, openContentService);
