import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());
const { api, baseUrl } = stack;

test("everybody sees the public web, without anything of the API", async () => {
  const robots = await fetch(`${baseUrl}/robots.txt`);
  assert.match(await robots.text(), /^User-agent: \*\nDisallow: \/api\//);
  assert.match(robots.headers.get("cache-control") ?? "", /public/);
  const start = await fetch(`${baseUrl}/`);
  assert.equal(start.status, 200);
  assert.match(await start.text(), /<h1>Tidings<\/h1>/);
  assert.equal(start.headers.get("access-control-allow-origin"), null);
  assert.equal(start.headers.get("set-cookie"), null);
});

test("while the content service is away, that is said, and the rest goes on", async () => {
  const content = stack.process("content");
  content.kill("SIGKILL");
  await eventually(async () => {
    const answer = await fetch(`${baseUrl}/`);
    assert.equal(answer.status, 503);
    assert.equal(answer.headers.get("retry-after"), "1");
  });
  assert.equal((await api("GET", "tags")).status, 200);
  assert.equal((await api("GET", "categories")).status, 503);
  await content.restart();
  await eventually(async () => assert.equal((await fetch(`${baseUrl}/`)).status, 200));
  await eventually(async () => assert.equal((await api("GET", "categories")).status, 200));
});
