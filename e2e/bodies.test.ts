import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, test } from "node:test";
import { resources } from "@tidings/gateway/resources";
import { createClient } from "./client.ts";
import { holdUps } from "./hold-ups.ts";
import { newPerson, PASSWORD } from "./people.ts";
import { ownRoutes, pathOf } from "./permission/routes.ts";
import { sendRaw } from "./raw-http.ts";
import { ADMINISTRATOR, startTestStack } from "./stack.ts";
import { authorizationOf } from "./uploader.ts";

/** Bodies of the largest size and the worst shape, at every route that takes one. */

const stack = await startTestStack();
after(() => stack.stop());
const { baseUrl } = stack;

const MEGABYTE = 1024 * 1024;
const SHAPES = {
  "two million zeros": `[${"0,".repeat(2_500_000)}0]`,
  "two million empty objects": `[${"{},".repeat(1_600_000)}{}]`,
  "lists in lists": "[".repeat(5 * MEGABYTE),
  "members of different names": `{${Array.from({ length: 200_000 }, (_, index) => `"k${index}":1`).join(",")}}`,
};
/** In one megabyte, for the routes that take no more. */
const SMALL = Object.fromEntries(
  Object.entries(SHAPES).map(([name, text]) => [name, text.slice(0, MEGABYTE - 1)]),
);
const AT_ONCE = 24;
/** Growth of resident memory that is allowed after all bodies were refused; keeping them parsed would take ten times as much. */
const GROWTH_MAX = 150 * MEGABYTE;
/** As in the conformance test: milliseconds where the work is bounded, seconds where it is not. */
const LAG_MAX_SECONDS = 0.5;

const routes = [
  ...resources.flatMap(({ path }) => [
    { method: "POST", path: `${path}/new`, bodies: SMALL },
    { method: "PATCH", path: `${path}/1/edit`, bodies: SMALL },
    { method: "POST", path: `${path}/batch/new`, bodies: SHAPES },
    { method: "PATCH", path: `${path}/batch/edit`, bodies: SHAPES },
  ]),
  ...ownRoutes
    .filter(({ method, body }) => method === "POST" && !body.isUpload)
    .map(({ path }) => ({ method: "POST", path: pathOf(path), bodies: SMALL })),
];

async function resident(): Promise<number> {
  const status = await readFile(`/proc/${stack.process("gateway").pid}/status`, "utf8");
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
}

function send(method: string, path: string, body: string, login = ADMINISTRATOR) {
  const headers = { "content-type": "application/json", authorization: authorizationOf(login) };
  return sendRaw(baseUrl, { method, path: `/api/${path}`, headers, body });
}

test("no body of any route holds the gateway, whatever its shape, and all are 4xx", async () => {
  const before = await holdUps(stack, ["gateway"], LAG_MAX_SECONDS);
  for (const { method, path, bodies } of routes)
    for (const [name, body] of Object.entries(bodies)) {
      const { status, text } = await send(method, path, body);
      assert.ok(status >= 400 && status < 500, `${method} ${path} ${name}: ${status} ${text.slice(0, 200)}`);
    }
  assert.equal(await holdUps(stack, ["gateway"], LAG_MAX_SECONDS), before);
});

test("many of them at once leave no memory behind, and others are served meanwhile", async () => {
  const before = await resident();
  const api = createClient(baseUrl, ADMINISTRATOR);
  const sent = Array.from({ length: AT_ONCE }, () =>
    send("POST", "contacts/batch/new", SHAPES["two million zeros"]).catch(() => undefined),
  );
  const reads = Array.from({ length: 20 }, () => api("GET", "contacts?limit=1"));
  for (const { status } of await Promise.all(reads)) assert.equal(status, 200);
  await Promise.all(sent);
  const growth = (await resident()) - before;
  assert.ok(growth < GROWTH_MAX, `${growth} bytes more`);
});

test("a caller without the right of a route gets 403 before its body is read", async () => {
  const { username } = await newPerson(stack, {});
  const login = { username, password: PASSWORD };
  // The right to create a category depends on its bundle, which is in the body.
  for (const { path } of resources.filter(({ path }) => path !== "categories")) {
    const { status } = await send("POST", `${path}/batch/new`, SHAPES["two million zeros"], login);
    assert.equal(status, 403, path);
  }
});

test("endpoints of OAuth take 16 kB", async () => {
  const headers = { "content-type": "application/json" };
  for (const path of ["/oauth/v2/token", "/oauth/v2/revoke"]) {
    const body = JSON.stringify({ token: "x".repeat(17_000) });
    assert.equal((await sendRaw(baseUrl, { method: "POST", path, headers, body })).status, 413);
  }
});
