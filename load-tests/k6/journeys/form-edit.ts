import type { Entity } from "../api.ts";
import { journey } from "../journey.ts";
import { LIST, READ, WRITE } from "../limits.ts";

interface Form extends Entity {
  fields: Record<string, Entity>;
}

const FIELDS = [
  { label: "Email", type: "email", isRequired: true, leadField: "email" },
  { label: "Colour", type: "select", properties: { list: ["red", "blue"] } },
  { label: "Send", type: "button" },
];
const ACTIONS = [{ type: "lead.pointschange", properties: { points: "5" } }];

/** Somebody draws a form, changes it, and looks for what was sent with it. */
export const formEdit = journey({
  perMinute: 20,
  endpoints: {
    "POST /forms/new": WRITE,
    "GET /forms/:id": READ,
    "PATCH /forms/:id/edit": WRITE,
    "DELETE /forms/:id/fields/delete": WRITE,
    "GET /forms/:id/submissions": LIST,
    "GET /forms": LIST,
    "DELETE /forms/:id/delete": WRITE,
  },
  prepare: () => undefined,
  iterate(api, _data, mark) {
    const body = { name: mark, fields: FIELDS, actions: ACTIONS, isPublished: true };
    const { form } = api<{ form: Form }>("POST /forms/new", { body, status: 201 });
    const path = { id: form.id };
    const [, colour] = Object.values(form.fields);
    api("GET /forms/:id", { path });
    api("PATCH /forms/:id/edit", {
      path,
      body: {
        fields: [
          { id: colour?.id, label: "Shade" },
          { label: "Why", type: "text" },
        ],
      },
    });
    api("DELETE /forms/:id/fields/delete", { path, query: `fields%5B%5D=${colour?.id}` });
    api("GET /forms/:id/submissions", { path, query: "orderBy=s.date_submitted&orderByDir=desc" });
    api("GET /forms", { query: "limit=30" });
    api("DELETE /forms/:id/delete", { path });
  },
  remove: () => undefined,
});
