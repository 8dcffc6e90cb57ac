import type { Entity } from "../api.ts";
import { person } from "../contacts.ts";
import { journey } from "../journey.ts";
import { WRITE } from "../limits.ts";

/** A program that is not sure of its writes sends each of them twice under one key: the second has the answer of the first. */
export const retriedWrites = journey({
  perMinute: 60,
  endpoints: {
    "POST /contacts/new": WRITE,
    "POST /contacts/:id/points/:operator/:delta": WRITE,
    "DELETE /contacts/:id/delete": WRITE,
  },
  prepare: () => undefined,
  iterate(api, _data, mark) {
    const headers = (step: string) => ({ "Idempotency-Key": `${mark}-${step}` });
    const create = () =>
      api<{ contact: Entity }>("POST /contacts/new", {
        body: person(mark, mark.length),
        headers: headers("create"),
        status: 201,
      });
    const [{ contact }, again] = [create(), create()];
    if (again.contact.id !== contact.id) throw new Error(`${mark} made two contacts`);
    const path = { id: contact.id };
    for (let attempt = 0; attempt < 2; attempt += 1)
      api("POST /contacts/:id/points/:operator/:delta", {
        path: { ...path, operator: "plus", delta: 5 },
        headers: headers("points"),
      });
    for (let attempt = 0; attempt < 2; attempt += 1)
      api("DELETE /contacts/:id/delete", { path, headers: headers("delete") });
  },
  remove: () => undefined,
});
