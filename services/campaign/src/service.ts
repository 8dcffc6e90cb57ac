import { categories } from "@tidings/projection/categories";
import { PointGroupService } from "@tidings/proto/tidings/campaign/v1/point_group_service";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { StageService } from "@tidings/proto/tidings/campaign/v1/stage_service";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { categoryReference } from "@tidings/store/category-reference";
import { implementResource } from "@tidings/store/implement-resource";
import { resourceSnapshots } from "@tidings/store/snapshots";
import type { CampaignConfig } from "./config.ts";

/** Stages, and everything that acts on contacts. */
export function openCampaignService({ database, outbox }: Foundation<CampaignConfig>): Parts {
  const context = { database, outbox, references: { category: categoryReference(database) } };
  return {
    services: [implementResource(StageService, context), implementResource(PointGroupService, context)],
    snapshots: [resourceSnapshots(database, StageSchema)],
    projections: [categories(["stages"])],
  };
}
