import { categories } from "@tidings/projection/categories";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { PointGroupService } from "@tidings/proto/tidings/campaign/v1/point_group_service";
import { PointTriggerSchema } from "@tidings/proto/tidings/campaign/v1/point_trigger";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { StageService } from "@tidings/proto/tidings/campaign/v1/stage_service";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { categoryReference } from "@tidings/store/category-reference";
import { implementResource } from "@tidings/store/implement-resource";
import { resourceReference } from "@tidings/store/resource-reference";
import { resourceSnapshots } from "@tidings/store/snapshots";
import type { CampaignConfig } from "./config.ts";
import { POINT_GROUP_SHOWN, pointServices } from "./point/service.ts";

/** Stages, and everything that acts on contacts. */
export function openCampaignService({ database, outbox }: Foundation<CampaignConfig>): Parts {
  const references = {
    category: categoryReference(database),
    point_group: resourceReference(database, PointGroupSchema, POINT_GROUP_SHOWN),
  };
  const context = { database, outbox, references };
  return {
    services: [
      implementResource(StageService, context),
      implementResource(PointGroupService, context),
      ...pointServices(context),
    ],
    snapshots: [StageSchema, PointGroupSchema, PointTriggerSchema].map((schema) =>
      resourceSnapshots(database, schema),
    ),
    projections: [categories(["stages", "point_actions", "point_triggers"])],
  };
}
