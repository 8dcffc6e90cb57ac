import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { register } from "prom-client";
import { clientOf } from "./testing/http.ts";
import { startScene } from "./testing/scene.ts";

const scene = await startScene();
after(scene.stop);
const api = clientOf(scene.port);

async function routes(): Promise<Set<string>> {
  const text = await register.getSingleMetricAsString("tidings_http_request_duration_seconds");
  return new Set(
    [...text.matchAll(/_count\{route="([^"]*)",method="(\w+)",status="(\d+)"/g)].map(
      ([, route, method, status]) => `${method} ${route} ${status}`,
    ),
  );
}

test("requests are measured by the template of their path, errors too", async () => {
  scene.addTags(1);
  await api("GET", "/api/tags/1");
  await api("GET", "/api/tags/77");
  await eventually(async () => assert.ok((await routes()).has("GET /api/tags/:id 200")), {
    timeoutMs: 1_000,
  });
  await eventually(
    async () => assert.ok((await routes()).has("GET /api/tags/:id 404"), [...(await routes())].join("; ")),
    { timeoutMs: 1_000 },
  );
});

test("no label ever holds what a caller made up", async () => {
  for (const path of [
    "/api/made-up-1",
    "/api/tags/made-up-2",
    "/no/such/page/made-up-3",
    "/api/contacts/1/points/made-up-4/1",
  ])
    await api("GET", path);
  await api("GET", "/api/tags");
  await eventually(async () =>
    assert.ok((await routes()).has("GET /api/tags/ 200") || (await routes()).has("GET /api/tags 200")),
  );
  assert.ok(![...(await routes())].some((label) => label.includes("made-up")));
});
