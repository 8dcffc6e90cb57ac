import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { templateOf } from "@tidings/gateway/openapi/document";
import axe from "axe-core";
import { startBrowser } from "./browser.ts";
import { createClient } from "./client.ts";
import { make, newPerson, PASSWORD } from "./people.ts";
import { allRoutes } from "./permission/routes.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());
const { api, baseUrl } = stack;

/** Pages of single operations that axe looks at: all of them take minutes. A prime, since operations of resources come in the same order. */
const STRIDE = process.env.TEST_ALL ? 1 : 31;

interface Operation {
  deprecated?: boolean;
  "x-permissions"?: { permission: string; parameter?: string }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, { content?: Record<string, { examples?: object }> }>;
}

interface Described {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: {
    schemas: Record<string, { properties: Record<string, { properties: Record<string, unknown> }> }>;
  };
}

async function description(client = api): Promise<Described> {
  const { status, text } = await client("GET", "openapi.json");
  assert.equal(status, 200, text);
  return JSON.parse(text);
}

test("callers who are not signed in get the description in docs/openapi.json", async () => {
  const kept = JSON.parse(await readFile(join(import.meta.dirname, "../docs/openapi.json"), "utf8"));
  assert.deepEqual(await description(createClient(baseUrl)), kept);
});

test("a credential that is not valid gets 401, and no description", async () => {
  const { status } = await createClient(baseUrl, { username: "admin", password: "wrong" })(
    "GET",
    "openapi.json",
  );
  assert.equal(status, 401);
});

test("callers who are signed in get the fields of this installation, with their types", async () => {
  await make(api, "fields/contact", "field", { label: "Shoe size", alias: "shoe_size", type: "number" });
  await make(api, "fields/company", "field", {
    label: "Floor",
    alias: "floor_name",
    type: "text",
    object: "company",
  });
  const { schemas } = (await description()).components;
  const valueIn = (name: string, alias: string) => {
    const all = schemas[name]?.properties.fields?.properties.all as Record<string, Record<string, unknown>>;
    return all.properties?.[alias];
  };
  assert.deepEqual(valueIn("Contact", "shoe_size"), { type: ["number", "null"], title: "Shoe size" });
  assert.deepEqual(valueIn("Company", "floor_name"), { type: ["string", "null"], title: "Floor" });
  assert.deepEqual(schemas.ContactInput?.properties.shoe_size, {
    type: ["number", "boolean", "string", "null"],
    title: "Shoe size",
  });
});

test("the description has a tag, which HEAD and GET answer alike to every caller", async () => {
  for (const client of [api, createClient(baseUrl)]) {
    const first = await client("GET", "openapi.json");
    const tag = first.headers.get("etag") ?? "";
    assert.match(tag, /^"[\w-]{22}"$/);
    assert.equal((await client("HEAD", "openapi.json")).headers.get("etag"), tag);
    const again = await client("GET", "openapi.json", undefined, { "if-none-match": tag });
    assert.deepEqual([again.status, again.text], [304, ""]);
  }
});

test("callers with different rights get descriptions of their own, one after the other", async () => {
  const person = await newPerson(stack, { "lead:leads": ["full"] });
  const theirs = createClient(baseUrl, { username: person.username, password: PASSWORD });
  const texts = await Promise.all(
    [api, theirs, api, theirs].map(async (client) => (await client("GET", "openapi.json")).text),
  );
  assert.equal(texts[0], texts[2]);
  assert.equal(texts[1], texts[3]);
  assert.notEqual(texts[0], texts[1]);
});

test("each operation with a right has its permissions, with the parameters of the entities that they are about", async () => {
  const { paths } = await description();
  const permissionsOf = (path: string, method: string) => paths[path]?.[method]?.["x-permissions"];
  assert.deepEqual(permissionsOf("/api/segments/{id}/contact/{contactId}/add", "post"), [
    { permission: "lead:lists:view", parameter: "id" },
    { permission: "lead:leads:edit", parameter: "contactId" },
  ]);
  assert.deepEqual(permissionsOf("/api/tags/new", "post"), [{ permission: "lead:leads:create" }]);
  for (const route of allRoutes.filter(({ right }) => right)) {
    const [path, method] = [templateOf(route.path), route.method.toLowerCase()];
    const { base, verb } = route.right ?? { base: "", verb: "" };
    const text = JSON.stringify(permissionsOf(path, method));
    assert.ok(text?.includes(`"${base}:${verb}"`), `${method} ${path} ${text}`);
  }
});

test("every body but an upload and every answer that is JSON has an example", async () => {
  const { paths } = await description();
  for (const [path, methods] of Object.entries(paths))
    for (const [method, { requestBody, responses }] of Object.entries(methods)) {
      const json = requestBody?.content["application/json"];
      if (json) assert.ok(json.example !== undefined, `${method} ${path}`);
      for (const [status, { content }] of Object.entries(responses)) {
        const answer = content?.["application/json"];
        if (answer) assert.ok(answer.examples, `${method} ${path} ${status}`);
      }
    }
});

test("older paths are described as deprecated", async () => {
  const { paths } = await description();
  assert.equal(paths["/api/segments/{id}/contact/add/{contactId}"]?.post?.deprecated, true);
  assert.equal(paths["/api/segments/{id}/contact/{contactId}/add"]?.post?.deprecated, undefined);
});

test("/api/docs shows every operation, calls nobody else and has nothing that axe finds", async (t) => {
  const browser = await startBrowser();
  t.after(() => browser.close());
  const page = await browser.newPage();
  // A browser takes half a minute to draw all operations on a slow machine.
  page.setDefaultTimeout(180_000);
  const outside: string[] = [];
  const complaints: string[] = [];
  page.on("request", (request) => {
    if (!request.url().startsWith(baseUrl) && !request.url().startsWith("data:")) outside.push(request.url());
  });
  page.on("console", (message) => message.type() === "error" && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  const answer = await page.goto(`${baseUrl}/api/docs`);
  assert.match(answer?.headers()["content-security-policy"] ?? "", /^default-src 'none'; script-src 'self';/);
  const { paths } = await description(createClient(baseUrl));
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method}-${path.replaceAll(/[{}]/g, "-")}`),
  );
  await page.locator("#nav-bar, [part=section-navbar]").first().waitFor();
  const shown = await page.locator("[part~=section-navbar-item]").count();
  assert.ok(shown >= operations.length, `${shown} of ${operations.length}`);
  for (const [index, operation] of operations.entries()) {
    if (index % STRIDE !== 0) continue;
    await page.goto(`${baseUrl}/api/docs#${operation}`);
    await page.locator("[part~=section-main-content] h2, [part~=section-main-content] h1").first().waitFor();
    if (index === 0) await page.evaluate(axe.source);
    // The frame and the list of operations are the same at each: axe takes seconds to read them.
    const violations = await page.evaluate(
      async (context) => {
        const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(context);
        return violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html.slice(0, 200)}`);
      },
      index === 0 ? "html" : { fromShadowDom: ["rapi-doc", "[part~=section-main-content]"] },
    );
    assert.deepEqual(violations, [], operation);
  }
  assert.deepEqual(outside, []);
  assert.deepEqual(complaints, []);
});

test("/api/docs is read by GET alone, and is off with the API", async (t) => {
  const refused = await fetch(`${baseUrl}/api/docs`, { method: "POST" });
  assert.deepEqual([refused.status, refused.headers.get("allow")], [405, "GET"]);
  const other = await startTestStack({ env: { gateway: { API_ENABLED: "false" } } });
  t.after(() => other.stop());
  assert.equal((await fetch(`${other.baseUrl}/api/docs`)).status, 403);
});
