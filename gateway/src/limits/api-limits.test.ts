import assert from "node:assert/strict";
import { after, test } from "node:test";
import { clientOf } from "../testing/http.ts";
import { startScene } from "../testing/scene.ts";
import { apiRateLimits } from "./api-limits.ts";
import { rateLimiter } from "./rate-limit.ts";

async function statuses(port: number, count: number, headers: Record<string, string>): Promise<number[]> {
  const api = clientOf(port);
  const answers = await Promise.all(
    Array.from({ length: count }, () => api("GET", "/api/tags", { anonymous: true, headers })),
  );
  return answers.map(({ status }) => status);
}

test("an address without credentials gets 60 answers of 401 at once, then 429 with all that it should know", async () => {
  const scene = await startScene();
  after(scene.stop);
  const found = await statuses(scene.port, 70, {});
  assert.equal(found.filter((status) => status === 401).length, 60);
  const { status, headers } = await clientOf(scene.port)("GET", "/api/tags", { anonymous: true });
  assert.equal(status, 429);
  for (const name of ["retry-after", "ratelimit", "ratelimit-policy"]) assert.ok(headers.get(name), name);
});

for (const authorization of ["Bearer nothing", "Digest nothing"]) {
  test(`credentials that cannot be right (${authorization}) are limited like none`, {}, async () => {
    const scene = await startScene();
    after(scene.stop);
    assert.ok((await statuses(scene.port, 70, { authorization })).includes(429));
  });
}

test("a principal has no limit unless one is configured, and then answers name it", async () => {
  const scene = await startScene({
    rates: apiRateLimits({ requestsPerHour: 3, keysPerMinute: 100 }, undefined),
  });
  after(scene.stop);
  const api = clientOf(scene.port);
  for (const left of [2, 1, 0]) {
    const { status, headers } = await api("GET", "/api/tags");
    assert.equal(status, 200);
    assert.match(headers.get("ratelimit") ?? "", new RegExp(`r=${left};`));
  }
  const { status, body } = await api("GET", "/api/tags");
  assert.equal(status, 429);
  assert.match((body.errors as { message: string }[])[0]?.message ?? "", /rate limit of 3/);
});

test("an idempotency key above the limit of a principal is 429 with Retry-After, and changes nothing", async () => {
  const scene = await startScene({
    rates: apiRateLimits({ requestsPerHour: 0, keysPerMinute: 3 }, undefined),
  });
  after(scene.stop);
  const api = clientOf(scene.port);
  const create = (key: string) =>
    api("POST", "/api/tags/new", { body: { tag: `tag ${key}` }, headers: { "idempotency-key": key } });
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => create(`key ${index}`)));
  const refused = answers.filter(({ status }) => status === 429);
  assert.equal(refused.length, 5);
  assert.equal(scene.tags.size, 3);
  for (const { headers, text } of refused) {
    assert.ok(Number(headers.get("retry-after")) > 0);
    assert.match(text, /At most 3 keys are taken in 60 s/);
  }
  assert.equal((await api("POST", "/api/tags/new", { body: { tag: "without a key" } })).status, 201);
});

test("the description counts against the address of callers without a credential, HEAD too", async () => {
  const anonymous = rateLimiter({ name: "anonymous", points: 3, windowSeconds: 60, redis: undefined });
  const rates = { ...apiRateLimits({ requestsPerHour: 0, keysPerMinute: 3 }, undefined), anonymous };
  const scene = await startScene({ rates });
  after(scene.stop);
  const api = clientOf(scene.port);
  for (const [method, expected] of [
    ["HEAD", 200],
    ["GET", 200],
    ["HEAD", 200],
    ["GET", 429],
    ["HEAD", 429],
  ] as const) {
    const { status } = await api(method, "/api/openapi.json", { anonymous: true });
    assert.equal(status, expected, method);
  }
});
