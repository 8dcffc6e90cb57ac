import type { Entity } from "../api.ts";
import { makeContacts, removeContacts } from "../contacts.ts";
import { journey } from "../journey.ts";
import { LIST, READ, WRITE } from "../limits.ts";

const EVENTS = [
  { id: "new_1", name: "Tag", type: "lead.changetags", eventType: "action", triggerMode: "immediate" },
  {
    id: "new_2",
    name: "Points",
    type: "lead.changepoints",
    eventType: "action",
    properties: { points: "20" },
    triggerMode: "interval",
    triggerInterval: 1,
    triggerIntervalUnit: "d",
    parent: { id: "new_1" },
  },
];

/** Somebody draws a campaign, copies it, and puts somebody in and out by hand. */
export const campaignEdit = journey({
  perMinute: 20,
  endpoints: {
    "POST /campaigns/new": WRITE,
    "PATCH /campaigns/:id/edit": WRITE,
    "GET /campaigns/:id": READ,
    "POST /campaigns/clone/:id": WRITE,
    "GET /campaigns": LIST,
    "POST /campaigns/:id/contact/:contactId/add": WRITE,
    "GET /campaigns/:id/contacts": LIST,
    "POST /campaigns/:id/contact/:contactId/remove": WRITE,
    "DELETE /campaigns/:id/delete": WRITE,
  },
  prepare: (api, run) => makeContacts(api, `${run}-campaign`, 1),
  iterate(api, [contactId = 0], mark) {
    const body = { name: mark, events: EVENTS };
    const { campaign } = api<{ campaign: Entity }>("POST /campaigns/new", { body, status: 201 });
    const path = { id: campaign.id };
    api("PATCH /campaigns/:id/edit", { path, body: { description: "Welcomes people", isPublished: true } });
    api("GET /campaigns/:id", { path });
    const copy = api<{ campaign: Entity }>("POST /campaigns/clone/:id", { path, status: 201 });
    api("GET /campaigns", { query: "limit=30" });
    api("POST /campaigns/:id/contact/:contactId/add", { path: { ...path, contactId } });
    api("GET /campaigns/:id/contacts", { path });
    api("POST /campaigns/:id/contact/:contactId/remove", { path: { ...path, contactId } });
    for (const { id } of [campaign, copy.campaign]) api("DELETE /campaigns/:id/delete", { path: { id } });
  },
  remove: removeContacts,
});
