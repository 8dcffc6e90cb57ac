import exec from "k6/execution";
import type { Entity } from "../api.ts";
import { makeContacts, removeContacts } from "../contacts.ts";
import { journey } from "../journey.ts";
import { LIST, READ } from "../limits.ts";

const LISTS = [
  "GET /companies",
  "GET /segments",
  "GET /campaigns",
  "GET /emails",
  "GET /forms",
  "GET /hooks",
  "GET /stages",
  "GET /categories",
] as const;

/** A dashboard: who asks, one contact and what belongs to it, and lists of everything in turn. */
export const mixedReads = journey({
  perMinute: 90,
  endpoints: {
    "GET /users/self": READ,
    "GET /contacts/:id": READ,
    "GET /contacts/:id/companies": READ,
    "GET /contacts/:id/devices": READ,
    ...(Object.fromEntries(LISTS.map((endpoint) => [endpoint, LIST])) as Record<
      (typeof LISTS)[number],
      typeof LIST
    >),
  },
  prepare: (api, run) => makeContacts(api, `${run}-reads`, 100),
  iterate(api, contacts) {
    const turn = exec.scenario.iterationInTest;
    const path = { id: contacts[turn % contacts.length] ?? 0 };
    api("GET /users/self");
    api<{ contact: Entity }>("GET /contacts/:id", { path });
    api("GET /contacts/:id/companies", { path });
    api("GET /contacts/:id/devices", { path });
    for (const step of [0, 1, 2, 3])
      api(LISTS[(turn * 4 + step) % LISTS.length] ?? LISTS[0], { query: "limit=30" });
  },
  remove: removeContacts,
});
