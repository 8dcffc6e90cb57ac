import { startService } from "@tidings/service/start-service";
import { campaignConfig } from "./config.ts";
import { durables } from "./durables.ts";
import { migrations } from "./migrations.ts";
import { openCampaignService } from "./service.ts";

await startService(
  { name: "campaign", config: campaignConfig(process.env), migrations, durables },
  openCampaignService,
);
