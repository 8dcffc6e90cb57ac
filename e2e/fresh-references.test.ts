import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { Entity } from "./client.ts";
import { startTestStack } from "./stack.ts";

/** An entity can be referred to right after it was created, however long its replication takes: here NATS is down. */

const stack = await startTestStack();
after(() => stack.stop());
const { api } = stack;

async function make(path: string, one: string, body: object): Promise<number> {
  const answer = await api("POST", `${path}/new`, body);
  assert.equal(answer.status, 201, answer.text);
  return ((answer.body as unknown as Record<string, Entity>)[one] as Entity).id;
}

let contactId = 0;
before(async () => {
  contactId = await make("contacts", "contact", { firstname: "Ada", email: "ada@example.com" });
  await stack.nats.kill();
});

test("a stage, a group of points and an owner that were made just now are there for contacts", async () => {
  const stage = await make("stages", "stage", { name: "Lead" });
  assert.equal((await api("POST", `stages/${stage}/contact/${contactId}/add`)).status, 200);
  const group = await make("points/groups", "pointGroup", { name: "Interest" });
  assert.equal((await api("POST", `contacts/${contactId}/points/groups/${group}/plus/5`)).status, 200);
  const owner = await make("users", "user", {
    username: "fresh",
    email: "fresh@example.com",
    firstName: "Fresh",
    lastName: "User",
    role: 1,
    plainPassword: { password: "correct horse battery", confirm: "correct horse battery" },
  });
  const owned = await api("PATCH", `contacts/${contactId}/edit`, { owner });
  assert.equal(owned.status, 200, owned.text);
});

test("categories, segments, forms, fields and contacts that were made just now are there for other services", async () => {
  const category = await make("categories", "category", { title: "Global", bundle: "global" });
  const segment = await make("segments", "list", { name: "Friends", category });
  const email = { name: "Mail", subject: "Hello", emailType: "list", lists: [segment], customHtml: "x" };
  await make("emails", "email", email);
  await make("fields/contact", "field", { label: "Shoe size", alias: "shoe_size", type: "number" });
  const fields = [{ label: "Size", type: "number", mappedField: "shoe_size" }];
  const form = await make("forms", "form", { name: "Sign up", formType: "campaign", fields });
  const sources = { lists: [{ id: segment }], forms: [{ id: form }] };
  const campaign = await make("campaigns", "campaign", { name: "Welcome", category, ...sources });
  const fresh = await make("contacts", "contact", { firstname: "Grace", email: "grace@example.com" });
  const added = await api("POST", `campaigns/${campaign}/contact/${fresh}/add`);
  assert.equal(added.status, 200, added.text);
});

test("an id that its owner does not have is 404 or 400, and the answer is 503 while the owner cannot be asked", async () => {
  assert.equal((await api("POST", `stages/2000000000/contact/${contactId}/add`)).status, 404);
  assert.equal((await api("POST", "segments/new", { name: "Lost", category: 2_000_000_000 })).status, 400);
  const category = await make("categories", "category", { title: "Later", bundle: "global" });
  stack.process("content").kill();
  await stack.process("content").exited;
  const answer = await api("POST", "segments/new", { name: "Waiting", category });
  assert.equal(answer.status, 503, answer.text);
  await stack.process("content").restart();
  assert.equal((await api("POST", "segments/new", { name: "Waiting", category })).status, 201);
});
