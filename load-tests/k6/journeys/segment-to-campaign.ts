import type { Entity } from "../api.ts";
import { person } from "../contacts.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, READ, WRITE } from "../limits.ts";
import { makeCitySegment } from "../segments.ts";
import { until } from "../until.ts";

const segmentToCampaignMember = domainLatency("segment_to_campaign_member", FOLLOWING);

/** Somebody comes into a segment and by that into a campaign, whose first step is noted as done. */
export const segmentToCampaign = journey({
  perMinute: 20,
  endpoints: {
    "POST /contacts/new": WRITE,
    "GET /contacts/:id/segments": READ,
    "GET /contacts/:id/campaigns": READ,
    "PUT /campaigns/events/:eventId/contact/:contactId/edit": WRITE,
    "GET /campaigns/:id/events/contact/:contactId": READ,
    "DELETE /contacts/:id/delete": WRITE,
  },
  latencies: [segmentToCampaignMember],
  prepare(api, run) {
    const city = `Campaign ${run}`;
    const segment = makeCitySegment(api, city);
    const body = {
      name: city,
      isPublished: true,
      lists: [{ id: segment }],
      events: [
        { id: "new_1", name: "Tag", type: "lead.changetags", eventType: "action", triggerMode: "immediate" },
      ],
    };
    const { campaign } = api<{ campaign: Entity & { events: object } }>("POST /campaigns/new", {
      body,
      status: 201,
    });
    return { city, segment, campaign: campaign.id, step: Number(Object.keys(campaign.events)[0]) };
  },
  iterate(api, { city, segment, campaign, step }, mark) {
    const body = { ...person(mark, mark.length), city };
    const { contact } = api<{ contact: Entity }>("POST /contacts/new", { body, status: 201 });
    const path = { id: contact.id };
    const segments = () => api<{ segments: object }>("GET /contacts/:id/segments", { path }).segments;
    const campaigns = () => api<{ campaigns: object }>("GET /contacts/:id/campaigns", { path }).campaigns;

    until("the segment finds the contact", Date.now(), () => segment in segments());
    const tookMs = until("the campaign follows the segment", Date.now(), () => campaign in campaigns());
    if (tookMs !== undefined) segmentToCampaignMember.add(tookMs);

    api("PUT /campaigns/events/:eventId/contact/:contactId/edit", {
      path: { eventId: step, contactId: contact.id },
      body: { dateTriggered: "2026-01-02 10:00" },
      status: 201,
    });
    api("GET /campaigns/:id/events/contact/:contactId", { path: { id: campaign, contactId: contact.id } });
    api("DELETE /contacts/:id/delete", { path });
  },
  remove(api, { segment, campaign }) {
    api("DELETE /campaigns/:id/delete", { path: { id: campaign } });
    api("DELETE /segments/:id/delete", { path: { id: segment } });
  },
});
