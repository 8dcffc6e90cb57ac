import { startService } from "@tidings/service/start-service";
import { reportingConfig } from "./config.ts";
import { durables } from "./durables.ts";
import { migrations } from "./migrations.ts";
import { openReportingService } from "./service.ts";

await startService(
  { name: "reporting", config: reportingConfig(process.env), migrations, durables },
  openReportingService,
);
