import { categories } from "@tidings/projection/categories";
import { CampaignMethodService, CampaignSchema } from "@tidings/proto/tidings/campaign/v1/campaign";
import { CampaignService } from "@tidings/proto/tidings/campaign/v1/campaign_service";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { PointGroupService } from "@tidings/proto/tidings/campaign/v1/point_group_service";
import { PointTriggerSchema } from "@tidings/proto/tidings/campaign/v1/point_trigger";
import { StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { StageService } from "@tidings/proto/tidings/campaign/v1/stage_service";
import { implementResource, implementStandard } from "@tidings/resource/implement-resource";
import { resourceSnapshots } from "@tidings/resource/snapshots";
import { visibleRows } from "@tidings/resource/visible-rows";
import { implement } from "@tidings/rpc/server";
import { visibleFinder } from "@tidings/service/find-visible";
import type { Foundation, Parts } from "@tidings/service/start-service";
import { campaignsOf } from "./campaign/campaign.ts";
import { forms } from "./campaign/form.ts";
import { campaignMethods } from "./campaign/methods.ts";
import type { CampaignConfig } from "./config.ts";
import { contacts } from "./membership/contacts.ts";
import { formMembers } from "./membership/form-members.ts";
import { memberWork } from "./membership/member-work.ts";
import { segmentMembers } from "./membership/segment-members.ts";
import { forgetForms, sourceSegments } from "./membership/sources.ts";
import { pointServices } from "./point/service.ts";
import { references } from "./references.ts";

/** Stages, and everything that acts on contacts. */
export function openCampaignService(foundation: Foundation<CampaignConfig>): Parts {
  const { config, database, outbox, log, upstreams } = foundation;
  const visible = [
    visibleRows(database, CampaignSchema, { where: "date_deleted is null" }),
    ...[StageSchema, PointGroupSchema].map((schema) => visibleRows(database, schema)),
  ];
  const findVisible = visibleFinder({ own: visible, upstreams, dialect: config.API_DIALECT });
  const context = { database, outbox, references: references(database), findVisible };
  const campaigns = campaignsOf(context, config.OUTBOUND_ALLOW_CIDRS);
  return {
    services: [
      implementStandard(CampaignService, campaigns),
      implement(CampaignMethodService, campaignMethods(context, campaigns)),
      implementResource(StageService, context),
      implementResource(PointGroupService, context),
      ...pointServices(context),
    ],
    sharedWrites: [StageService.method.createStage, PointGroupService.method.createPointGroup],
    jobs: memberWork({ database, outbox, log }),
    snapshots: [StageSchema, PointGroupSchema, PointTriggerSchema].map((schema) =>
      resourceSnapshots(database, schema),
    ),
    visible,
    projections: [
      categories(["stages", "campaigns", "point_actions", "point_triggers"]),
      contacts(outbox),
      sourceSegments(),
      segmentMembers(outbox),
      forms(forgetForms),
      formMembers(outbox),
    ],
  };
}
