import type { Target } from "../measure.ts";
import { measureReaction, type SegmentReaction } from "../segment-speed.ts";
import type { PublicSite } from "./site.ts";
import { hitOf } from "./workloads.ts";

const HITS_PER_SECOND = 500;

/** How long after the answer to a hit its contact is a member of the segment of those who saw that page, at 500 hits a second. */
export function measureHitToMember(
  target: Target,
  databaseUrl: string,
  site: PublicSite,
): Promise<SegmentReaction> {
  const url = `https://shop.example/offer/${Date.now()}`;
  return measureReaction(target, databaseUrl, {
    name: "Bench hits",
    filters: [{ field: "hit_url", object: "behaviors", operator: "=", filter: url }],
    perSecond: HITS_PER_SECOND,
    async change(contactId) {
      const { path, headers, body } = hitOf(site, contactId, url);
      const response = await fetch(`${target.url}${path}`, { method: "POST", headers, body });
      if (!response.ok) throw new Error(`a hit was answered ${response.status}`);
      await response.arrayBuffer();
    },
  });
}
