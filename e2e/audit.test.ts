import assert from "node:assert/strict";
import { test } from "node:test";
import { resources } from "@tidings/gateway/resources";
import { auditedBySubject } from "@tidings/reporting/audited";
import { placeOf } from "@tidings/resource/resource";
import { standardOf } from "@tidings/rpc/standard";
import { eventually } from "@tidings/testkit/eventually";
import type { Entity } from "./client.ts";
import { make, newPerson } from "./people.ts";
import { sharedStack } from "./shared-stack.ts";

const stack = await sharedStack();
const { api } = stack;

interface Entry extends Entity {
  userName: string | null;
  object: string;
  objectId: number;
  action: string;
  details: Record<string, unknown>;
}

async function entriesOf(object: string, id: number): Promise<Entry[]> {
  const where = `where[0][col]=object&where[0][expr]=eq&where[0][val]=${object}`;
  const and = `where[1][col]=objectId&where[1][expr]=eq&where[1][val]=${id}`;
  const { body, text } = await api("GET", `audit?${where}&${and}&orderBy=id`);
  const { logs } = body as unknown as { logs: Entry[] };
  assert.ok(logs, text);
  return logs;
}

test("a change is noted with its actor and the values before and after", async () => {
  const person = await newPerson(stack, { "category:categories": ["full"] });
  const category = await make(person.api, "categories", "category", { title: "Sales", bundle: "segment" });
  await person.api("PATCH", `categories/${category.id}/edit`, { title: "Selling" });
  await api("DELETE", `categories/${category.id}/delete`);
  await eventually(async () => {
    const entries = await entriesOf("category", category.id);
    assert.deepEqual(
      entries.map(({ action }) => action),
      ["create", "update", "delete"],
    );
    assert.deepEqual(entries[1]?.details, { title: ["Sales", "Selling"] });
    assert.deepEqual(entries[2]?.details.title, ["Selling", null]);
    const [creator, editor, deleter] = entries.map(({ userName }) => userName);
    assert.equal(creator, editor);
    assert.notEqual(deleter, editor);
  });
});

test("a change of a contact is noted with the names of the changed members, and a merge with its actor", async () => {
  const contact = await make(api, "contacts", "contact", { firstname: "Ada" });
  await api("PATCH", `contacts/${contact.id}/edit`, { city: "London" });
  await eventually(async () => {
    const entries = await entriesOf("contact", contact.id);
    assert.deepEqual(
      entries.map(({ action }) => action),
      ["create", "update"],
    );
    assert.match(JSON.stringify(entries[1]?.details), /"city"/);
    assert.ok(entries.every(({ userName }) => userName !== null));
  });
});

test("no secret is written down", async () => {
  const secret = "a secret that nobody else has seen";
  const hook = await make(api, "hooks", "hook", {
    name: "Audited",
    webhookUrl: "https://example.com/",
    secret,
  });
  await eventually(async () => assert.equal((await entriesOf("webhook", hook.id)).length, 1));
  const { text } = await api("GET", "audit?limit=0");
  assert.ok(!text.includes(secret));
});

test("every resource that is mounted is audited", () => {
  const mounted = resources.map(({ service }) => placeOf(standardOf(service).resource).events);
  const silent = mounted.filter((events) => !auditedBySubject(`${events}.created`));
  assert.deepEqual(silent, []);
});
