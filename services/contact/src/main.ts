import { startService } from "@tidings/service/start-service";
import { contactConfig } from "./config.ts";
import { durables } from "./durables.ts";
import { migrations } from "./migrations.ts";
import { openContactService } from "./service.ts";

await startService(
  { name: "contact", config: contactConfig(process.env), migrations, durables },
  openContactService,
);
