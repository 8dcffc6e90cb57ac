import type { Entity } from "../api.ts";
import { person } from "../contacts.ts";
import { journey } from "../journey.ts";
import { READ, WRITE } from "../limits.ts";

/** Somebody becomes known, is changed, scored, left alone, and forgotten. */
export const contactLifecycle = journey({
  perMinute: 60,
  endpoints: {
    "POST /contacts/new": WRITE,
    "GET /contacts/:id": READ,
    "PATCH /contacts/:id/edit": WRITE,
    "PUT /contacts/:id/edit": WRITE,
    "POST /contacts/:id/points/:operator/:delta": WRITE,
    "POST /contacts/:id/dnc/:channel/add": WRITE,
    "POST /notes/new": WRITE,
    "GET /contacts/:id/notes": READ,
    "DELETE /contacts/:id/delete": WRITE,
  },
  prepare: () => undefined,
  iterate(api, _data, mark) {
    const body = person(mark, mark.length);
    const { contact } = api<{ contact: Entity }>("POST /contacts/new", { body, status: 201 });
    const path = { id: contact.id };
    api("GET /contacts/:id", { path });
    api("PATCH /contacts/:id/edit", { path, body: { position: "Analyst", tags: ["vip", "-load-1"] } });
    api("POST /contacts/:id/points/:operator/:delta", {
      path: { ...path, operator: "plus", delta: 5 },
      body: { eventName: "Load test" },
    });
    api("POST /contacts/:id/dnc/:channel/add", {
      path: { ...path, channel: "email" },
      body: { comments: "Asked" },
    });
    api("POST /notes/new", {
      body: { lead: contact.id, text: "Called today", type: "general" },
      status: 201,
    });
    api("GET /contacts/:id/notes", { path });
    api("PUT /contacts/:id/edit", { path, body: { email: `${mark}@example.com`, lastname: "Replaced" } });
    api("DELETE /contacts/:id/delete", { path });
  },
  remove: () => undefined,
});
