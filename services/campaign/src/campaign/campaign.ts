import { create } from "@bufbuild/protobuf";
import type { Range } from "@tidings/outbound/address";
import { Verb } from "@tidings/proto/tidings/api/v1/options";
import {
  type Campaign,
  CampaignEventLinkSchema,
  CampaignEventSchema,
  CampaignSchema,
} from "@tidings/proto/tidings/campaign/v1/campaign";
import { repository } from "@tidings/resource/repository";
import type { Repository, ResourceContext } from "@tidings/resource/repository-options";
import { needsOfTyped } from "@tidings/resource/typed-needs";
import type { Call } from "@tidings/rpc/call";
import { denied } from "@tidings/rpc/fault";
import { followSources } from "../membership/follow-sources.ts";
import { followEvents } from "./event-table.ts";
import { eventTypes } from "./event-types.ts";
import { freeEventIds } from "./free-ids.ts";
import { pathOf } from "./links.ts";
import { resolveEvents } from "./resolve-events.ts";
import { showNeighbours } from "./show-events.ts";

/** Campaigns, whose events and canvas are one graph. */
export function campaignsOf(context: ResourceContext, allowed: Range[]): Repository<Campaign> {
  return repository<Campaign, number[]>(context, CampaignSchema, {
    deletion: "kept",
    load: (transaction, _call, messages, ids) => freeEventIds(transaction, messages, ids),
    prepare(draft, { before, sent, loaded }) {
      if (before && !sent.updateMask?.paths.includes("*")) keepSources(draft, before);
      return resolveEvents(draft, { before, sent, freeIds: loaded, allowed });
    },
    needs: ({ events }) => events.flatMap((event) => needsOfTyped(event, eventTypes, `${pathOf(event)}.`)),
    changed(transaction, changes) {
      followEvents(transaction, changes);
      followSources(transaction, changes);
    },
    async show(items) {
      for (const { events } of items) showNeighbours(events);
    },
  });
}

/** PATCH adds segments and forms to those that a campaign has; PUT alone takes some away. */
function keepSources(draft: Campaign, before: Campaign): void {
  for (const source of ["lists", "forms"] as const) {
    const sent = new Set(draft[source].map(({ id }) => id));
    draft[source] = [...before[source].filter(({ id }) => !sent.has(id)), ...draft[source]];
  }
}

/**
 * A copy with new events, connected in the same way: unpublished, and the caller's. Throws NOT_FOUND for one that is not there
 * for the caller.
 */
export async function cloneCampaign(
  campaigns: Repository<Campaign>,
  id: number,
  call: Call,
): Promise<Campaign> {
  if (call.reach(Verb.VIEW) === "none") throw denied();
  const { events, ...campaign } = await campaigns.get(id, call);
  const { item } = await campaigns.create(
    create(CampaignSchema, {
      ...campaign,
      alias: "",
      isPublished: false,
      events: events.map(({ parent, ...event }) =>
        create(CampaignEventSchema, {
          ...event,
          id: 0,
          sentId: String(event.id),
          children: [],
          ...(parent && { parent: create(CampaignEventLinkSchema, { sentId: String(parent.id) }) }),
        }),
      ),
    }),
    call,
  );
  return item;
}
