import { check } from "k6";
import type { Entity } from "../api.ts";
import { domainLatency, journey } from "../journey.ts";
import { FOLLOWING, LIST, READ, VISIT, WRITE } from "../limits.ts";
import { until } from "../until.ts";
import { contactWith, removeVisitor } from "../visitors.ts";

const HTML = `<!doctype html><html><head><title>News</title></head><body>
<h1>Hello {contactfield=firstname|you}</h1><p>There is news.</p></body></html>`;
const hitToMember = domainLatency("hit_to_segment_member", FOLLOWING);

/** Somebody new sees a landing page, then a page of a tracked site, and a segment finds who saw that. */
export const publicVisit = journey({
  perMinute: 60,
  endpoints: {
    "GET /:name": VISIT,
    "GET /mtc.js": VISIT,
    "POST /mtc/event": VISIT,
    "GET /mtracking.gif": VISIT,
    "GET /contacts": LIST,
    "GET /contacts/:id/segments": READ,
    "DELETE /contacts/:id/delete": WRITE,
  },
  latencies: [hitToMember],
  prepare(api, run) {
    const alias = `${run}-news`;
    const { page } = api<{ page: Entity }>("POST /pages/new", {
      body: { title: "News", alias, customHtml: HTML, isPublished: true },
      status: 201,
    });
    const offer = `https://shop.example/${run}/offer`;
    const filter = { glue: "and", object: "behaviors", field: "hit_url", operator: "=", filter: offer };
    const { list } = api<{ list: Entity }>("POST /segments/new", {
      body: { name: `Saw the offer ${run}`, isPublished: true, filters: [filter] },
      status: 201,
    });
    return { alias, offer, page: page.id, segment: list.id };
  },
  iterate(api, { alias, offer, segment }) {
    const html = api<string>("GET /:name", { path: { name: alias } });
    check(html, { "the page greets a stranger": (text) => text.includes("Hello you") });
    api("GET /mtc.js");
    api("GET /mtracking.gif", { query: `page_url=${encodeURIComponent("https://shop.example/")}` });
    const body = { page_url: offer, page_title: "An offer", counter: "2" };
    const hit = api<{ success: number; id: number }>("POST /mtc/event", { body });
    const answeredAt = Date.now();
    if (!check(hit, { "the hit is recorded": ({ success, id }) => success === 1 && id > 0 })) return;
    const tookMs = until("the segment finds the visitor", answeredAt, () => {
      if (contactWith(api, "id", hit.id) === undefined) return false;
      const { segments } = api<{ segments: object }>("GET /contacts/:id/segments", { path: { id: hit.id } });
      return Object.keys(segments).includes(String(segment));
    });
    if (tookMs !== undefined) hitToMember.add(tookMs);
    removeVisitor(api, hit.id);
  },
  remove(api, { page, segment }) {
    api("DELETE /pages/:id/delete", { path: { id: page } });
    api("DELETE /segments/:id/delete", { path: { id: segment } });
  },
});
