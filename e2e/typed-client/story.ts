// The README's story as a client writes it whose types are generated from docs/openapi.json: a contact, a segment that finds it, an edit
// that comes first and one that comes late, a write that is sent twice, a page by cursor.
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { paths } from "./api.d.ts";

const [baseUrl = "", username = "", password = ""] = process.argv.slice(2);
const authorization = `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
const client = createClient<paths>({ baseUrl, headers: { authorization } });

const made = await client.POST("/api/contacts/new", {
  params: { header: { "Idempotency-Key": "story-1" } },
  body: { firstname: "Ada", email: "ada.story@example.com", city: "Story" },
});
assert.ok(made.data, JSON.stringify(made.error));
const { id } = made.data.contact;
assert.ok(id);

const again = await client.POST("/api/contacts/new", {
  params: { header: { "Idempotency-Key": "story-1" } },
  body: { firstname: "Ada", email: "ada.story@example.com", city: "Story" },
});
assert.equal(again.response.headers.get("idempotency-replayed"), "true");
assert.equal(again.data?.contact.id, id);

const filters = [
  { glue: "and" as const, object: "lead", field: "city", type: "text", operator: "=", filter: "Story" },
];
const segment = await client.POST("/api/segments/new", { body: { name: "Story", filters } });
const segmentId = segment.data?.list.id;
assert.ok(segmentId);
for (let state: string = "waiting"; state !== "done"; await pause(50)) {
  const { data } = await client.GET("/api/jobs", {
    params: { query: { kind: "segment_build", subjectId: segmentId } },
  });
  const [job] = data?.jobs ?? [];
  assert.ok(job && job.state !== "failed", JSON.stringify(job));
  state = job.state;
}

const found = await client.GET("/api/contacts", {
  params: { query: { search: "segment:story", cursor: "", count: "none" } },
});
assert.deepEqual(Object.keys(found.data?.contacts ?? {}), [String(id)]);

const read = await client.GET("/api/contacts/{id}", { params: { path: { id } } });
const tag = read.response.headers.get("etag") ?? "";
const edit = () =>
  client.PATCH("/api/contacts/{id}/edit", {
    params: { path: { id }, header: { "If-Match": tag } },
    body: { city: "London" },
  });
assert.equal((await edit()).response.status, 200);
const late = await edit();
assert.equal(late.response.status, 412);
assert.equal(late.error?.errors[0]?.code, 412);

const gone = await client.DELETE("/api/contacts/{id}/delete", { params: { path: { id } } });
assert.equal(gone.data?.contact.id, null);
const missing = await client.GET("/api/contacts/{id}", { params: { path: { id } } });
assert.equal(missing.error?.errors[0]?.message, "Item was not found.");
