import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, test } from "node:test";
import { processes } from "@tidings/scripts/processes";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import { startCollector } from "./collector.ts";
import { startTestStack } from "./stack.ts";

const collector = await startCollector();
const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
  OTEL_BSP_SCHEDULE_DELAY: "100",
  // Only what its caller asks for: the rest of the stack's life is none of this.
  OTEL_TRACES_SAMPLER: "parentbased_always_off",
};
const stack = await startTestStack({
  env: Object.fromEntries(processes.map(({ name }) => [name, tracing])),
});
const receiver = await startReceiver();
after(async () => {
  await stack.stop();
  await receiver.stop();
  collector.stop();
});

/** Spans by process and name, the second of which follows from the first: as its child, or linked to it. */
type Edge = [string, string];

/** Does something with a trace around it, and waits until these edges are in what was exported of it. */
async function follow(act: (headers: { traceparent: string }) => Promise<unknown>, edges: Edge[]) {
  const traceId = randomBytes(16).toString("hex");
  await act({ traceparent: `00-${traceId}-${randomBytes(8).toString("hex")}-01` });
  await eventually(() => {
    const spans = collector.spans.filter((span) => span.traceId === traceId);
    const titles = new Map(spans.map(({ id, service, name }) => [id, `${service}: ${name}`]));
    const found = spans.flatMap(({ id, parentId, links }) =>
      [parentId, ...links].map((from) => `${titles.get(from)} -> ${titles.get(id)}`),
    );
    for (const [from, to] of edges)
      assert.ok(found.includes(`${from} -> ${to}`), `${from} -> ${to} is not among\n${found.join("\n")}`);
  });
}

const triggers = ["svc.lead_post_save_update", "svc.lead_list_change"];
await stack.api("POST", "hooks/new", { name: "Traced", webhookUrl: receiver.url, triggers });

test("a PATCH is followed to its call, its event's publication, who hears of it, and the webhook", async () => {
  const { body } = await stack.api("POST", "contacts/new", { firstname: "Ada" });
  const call = "contact: tidings.contact.v1.ContactService/UpdateContact";
  const publication = "contact: publish tidings.contact.contact.updated";
  await follow(
    (headers) => stack.api("PATCH", `contacts/${body.contact.id}/edit`, { city: "London" }, headers),
    [
      ["gateway: PATCH /api/contacts/:id/edit", call],
      [call, publication],
      [publication, "contact: consume contact-segments"],
      [publication, "webhook: consume webhook-fan-out"],
      [publication, "webhook: deliver webhook"],
    ],
  );
});

test("a segment is followed to the job that finds its members, and from there to the delivery about one", async () => {
  // Consumers of contact events have handled that of the first test: the job finds its contact, and no other one.
  const filter = {
    glue: "and",
    object: "lead",
    field: "city",
    type: "text",
    operator: "=",
    filter: "London",
  };
  const call = "contact: tidings.contact.v1.SegmentService/CreateSegment";
  const publication = "contact: publish tidings.contact.segment.membership_changed";
  await follow(
    (headers) => stack.api("POST", "segments/new", { name: "Followed", filters: [filter] }, headers),
    [
      ["gateway: POST /api/segments/new", call],
      [call, "contact: job segment_build"],
      ["contact: job segment_build", publication],
      [publication, "webhook: deliver webhook"],
    ],
  );
});

test("a deletion is followed through another service's consumer to the job that it leaves behind there", async () => {
  const { body } = await stack.api("POST", "segments/new", { name: "Short-lived" });
  const id = (body as unknown as { list: { id: number } }).list.id;
  const publication = "contact: publish tidings.contact.segment.deleted";
  const consumption = "campaign: consume campaign-projection-contact";
  await follow(
    (headers) => stack.api("DELETE", `segments/${id}/delete`, undefined, headers),
    [
      ["contact: tidings.contact.v1.SegmentService/DeleteSegment", publication],
      [publication, consumption],
      [consumption, "campaign: job campaign_segment_removal"],
    ],
  );
});
