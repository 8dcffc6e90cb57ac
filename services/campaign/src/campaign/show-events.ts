import { create } from "@bufbuild/protobuf";
import {
  type CampaignEvent,
  type CampaignEventLink,
  CampaignEventLinkSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";

/** Lets events show those next to them, in place. */
export function showNeighbours(events: CampaignEvent[]): void {
  const byId = new Map(events.map((event) => [event.id, event]));
  const children = Map.groupBy(events, ({ parent }) => parent?.id);
  for (const event of events) {
    const parent = event.parent && byId.get(event.parent.id);
    if (parent) event.parent = linkTo(parent);
    event.children = (children.get(event.id) ?? []).map(linkTo);
  }
}

function linkTo(event: CampaignEvent): CampaignEventLink {
  const { id, name, type, eventType, order, decisionPath } = event;
  return create(CampaignEventLinkSchema, {
    id,
    name,
    type,
    eventType,
    order,
    ...(decisionPath !== undefined && { decisionPath }),
  });
}
