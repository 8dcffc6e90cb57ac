import type { Entity } from "../api.ts";
import { person } from "../contacts.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, READ, WRITE } from "../limits.ts";
import { makeCitySegment } from "../segments.ts";
import { until } from "../until.ts";

const editToMember = domainLatency("edit_to_segment_member", FOLLOWING);

/** Somebody is changed so that a segment finds them, and is put into another by hand. */
export const segmentMembership = journey({
  perMinute: 30,
  endpoints: {
    "POST /contacts/new": WRITE,
    "PATCH /contacts/:id/edit": WRITE,
    "GET /contacts/:id/segments": READ,
    "POST /segments/:id/contact/:contactId/add": WRITE,
    "GET /segments/:id/contact/:contactId/explain": READ,
    "POST /segments/:id/contact/:contactId/remove": WRITE,
    "DELETE /contacts/:id/delete": WRITE,
  },
  latencies: [editToMember],
  prepare(api, run) {
    const city = `City of ${run}`;
    const { list } = api<{ list: Entity }>("POST /segments/new", {
      body: { name: `By hand ${run}` },
      status: 201,
    });
    return { city, found: makeCitySegment(api, city), byHand: list.id };
  },
  iterate(api, { city, found, byHand }, mark) {
    const body = person(mark, mark.length);
    const { contact } = api<{ contact: Entity }>("POST /contacts/new", { body, status: 201 });
    const path = { id: contact.id };
    const segments = () =>
      Object.keys(api<{ segments: object }>("GET /contacts/:id/segments", { path }).segments).map(Number);

    api("PATCH /contacts/:id/edit", { path, body: { city } });
    const tookMs = until("the segment finds the contact", Date.now(), () => segments().includes(found));
    if (tookMs !== undefined) editToMember.add(tookMs);

    const membership = { path: { id: byHand, contactId: contact.id } };
    api("POST /segments/:id/contact/:contactId/add", membership);
    api("GET /segments/:id/contact/:contactId/explain", membership);
    api("POST /segments/:id/contact/:contactId/remove", membership);
    api("DELETE /contacts/:id/delete", { path });
  },
  remove(api, { found, byHand }) {
    for (const id of [found, byHand]) api("DELETE /segments/:id/delete", { path: { id } });
  },
});
