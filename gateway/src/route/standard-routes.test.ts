import assert from "node:assert/strict";
import { after, test } from "node:test";
import { clientOf } from "../testing/http.ts";
import { startScene } from "../testing/scene.ts";

const scene = await startScene();
after(scene.stop);
const api = clientOf(scene.port);

async function tagged(tag: string): Promise<number> {
  const { body } = await api("POST", "/api/tags/new", { body: { tag } });
  return (body.tag as { id: number }).id;
}

test("create answers 201 with a Location, and 200 without one when the row was there", async () => {
  const created = await api("POST", "/api/tags/new", { body: { tag: "new" } });
  const { id } = created.body.tag as { id: number };
  assert.deepEqual([created.status, created.headers.get("location")], [201, `/api/tags/${id}`]);
  const again = await api("POST", "/api/tags/new", { body: { tag: "new" } });
  assert.deepEqual([again.status, again.headers.get("location"), again.body], [200, null, created.body]);
});

test("PATCH of a missing id is 404, PUT creates", async () => {
  assert.equal((await api("PATCH", "/api/tags/999999/edit", { body: { tag: "x" } })).status, 404);
  const put = await api("PUT", "/api/tags/999999/edit", { body: { tag: "put" } });
  assert.equal(put.status, 201);
  assert.match(put.headers.get("location") ?? "", /^\/api\/tags\/\d+$/);
  assert.equal(
    (await api("PUT", put.headers.get("location")?.concat("/edit") ?? "", { body: { tag: "put 2" } })).status,
    200,
  );
});

test("DELETE answers what was there with id null, then 404", async () => {
  const id = await tagged(`with "id":1 in its text`);
  const { status, body } = await api("DELETE", `/api/tags/${id}/delete`);
  assert.deepEqual(
    [status, body.tag],
    [200, { id: null, tag: `with "id":1 in its text`, description: null }],
  );
  assert.equal((await api("DELETE", `/api/tags/${id}/delete`)).status, 404);
});

test("bad input names its field", async () => {
  const { status, body } = await api("POST", "/api/tags/new", { body: { tag: "bad" } });
  assert.equal(status, 400);
  assert.deepEqual((body.errors as { details: object }[])[0]?.details, { tag: ["A value is required."] });
});

test("[] is an empty body, any other list is not a body", async () => {
  const id = await tagged("list body");
  assert.equal((await api("PATCH", `/api/tags/${id}/edit`, { body: [] })).status, 200);
  assert.equal((await api("PATCH", `/api/tags/${id}/edit`, { body: [1] })).status, 400);
});

test("select on a single row shows only that", async () => {
  const id = await tagged("selected");
  assert.deepEqual((await api("GET", `/api/tags/${id}?select[]=id&select[]=description`)).body, {
    tag: { id },
  });
});

test("HEAD answers like GET, without a body", async () => {
  const id = await tagged("head");
  const { status, headers, text } = await api("HEAD", `/api/tags/${id}`);
  assert.deepEqual([status, headers.get("content-type"), text], [200, "application/json", ""]);
});

test("text that takes more than one byte a character arrives whole", async () => {
  const id = await tagged("Köln 🐘 \u2028");
  assert.equal(((await api("GET", `/api/tags/${id}`)).body.tag as { tag: string }).tag, "Köln 🐘 \u2028");
});

test("a switch that every object has as a member is a bad request, not a failure", async () => {
  const { status } = await api("POST", "/api/hooks/new", { body: { name: "a", isPublished: "constructor" } });
  assert.equal(status, 400);
});
