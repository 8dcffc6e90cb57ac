import type { Entity } from "../api.ts";
import { makeContacts, removeContacts } from "../contacts.ts";
import { journey } from "../journey.ts";
import { FOLLOWING, LIST, READ, WRITE } from "../limits.ts";

/** Somebody says what is worth points and what they lead to, and moves a contact along. */
export const pointsAndStages = journey({
  perMinute: 20,
  endpoints: {
    "GET /points/actions/types": READ,
    "POST /points/new": WRITE,
    "PATCH /points/:id/edit": WRITE,
    "DELETE /points/:id/delete": WRITE,
    "POST /points/triggers/new": WRITE,
    "GET /points/triggers": LIST,
    "DELETE /points/triggers/:id/delete": WRITE,
    "POST /stages/new": WRITE,
    // To a new stage: answered when the contact service has replicated it.
    "POST /stages/:id/contact/:contactId/add": FOLLOWING,
    "POST /stages/:id/contact/:contactId/remove": WRITE,
    "DELETE /stages/:id/delete": WRITE,
    "POST /contacts/:id/points/:operator/:delta": WRITE,
  },
  prepare: (api, run) => makeContacts(api, `${run}-points`, 20),
  iterate(api, contacts, mark) {
    const contactId = contacts[mark.length % contacts.length] ?? 0;
    api("GET /points/actions/types");
    const action = { name: mark, delta: 5, type: "page.hit", isPublished: true };
    const { point } = api<{ point: Entity }>("POST /points/new", { body: action, status: 201 });
    api("PATCH /points/:id/edit", { path: { id: point.id }, body: { delta: 7 } });
    api("DELETE /points/:id/delete", { path: { id: point.id } });

    // Drawn, not published: a published one colours every contact there is.
    const events = [{ name: "Tag", type: "lead.changetags", properties: { add_tags: ["warm"] } }];
    const draft = { name: mark, points: 1_000_000, color: "4e5d9d", isPublished: false, events };
    const { trigger } = api<{ trigger: Entity }>("POST /points/triggers/new", { body: draft, status: 201 });
    api("GET /points/triggers", { query: "limit=30" });
    api("DELETE /points/triggers/:id/delete", { path: { id: trigger.id } });

    const { stage } = api<{ stage: Entity }>("POST /stages/new", {
      body: { name: mark, weight: 3 },
      status: 201,
    });
    const path = { id: stage.id, contactId };
    api("POST /stages/:id/contact/:contactId/add", { path });
    api("POST /stages/:id/contact/:contactId/remove", { path });
    api("DELETE /stages/:id/delete", { path: { id: stage.id } });

    for (const operator of ["plus", "minus"])
      api("POST /contacts/:id/points/:operator/:delta", { path: { id: contactId, operator, delta: 3 } });
  },
  remove: removeContacts,
});
