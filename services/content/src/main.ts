import { startService } from "@tidings/service/start-service";
import { contentConfig } from "./config.ts";
import { migrations } from "./migrations.ts";
import { openContentService } from "./service.ts";

await startService({ name: "content", config: contentConfig(process.env), migrations }, openContentService);
