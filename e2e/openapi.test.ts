import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { createClient } from "./client.ts";
import { make } from "./people.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack();
after(() => stack.stop());
const { api, baseUrl } = stack;

interface Described {
  openapi: string;
  paths: Record<string, Record<string, { deprecated?: boolean }>>;
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

test("older paths are described as deprecated", async () => {
  const { paths } = await description();
  assert.equal(paths["/api/segments/{id}/contact/add/{contactId}"]?.post?.deprecated, true);
  assert.equal(paths["/api/segments/{id}/contact/{contactId}/add"]?.post?.deprecated, undefined);
});
