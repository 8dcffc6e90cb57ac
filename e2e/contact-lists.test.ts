import assert from "node:assert/strict";
import { test } from "node:test";
import type { Answer, Entity } from "./client.ts";
import { sharedStack } from "./shared-stack.ts";

const stack = await sharedStack();
const { api } = stack;

const ids: number[] = [];
for (const firstname of ["Ada", "Bob"])
  ids.push((await api("POST", "contacts/new", { firstname })).body.contact.id);
const [ada = 0, bob = 0] = ids;

function listed({ status, text, body }: Answer, many: "notes" | "devices"): Entity[] {
  assert.equal(status, 200, text);
  return (body as unknown as Record<string, Entity[]>)[many] ?? [];
}

test("a contact's notes are a list with an integer total, the latest first", async () => {
  for (const [lead, text] of [
    [ada, "first"],
    [bob, "of somebody else"],
    [ada, "second"],
  ]) {
    assert.equal((await api("POST", "notes/new", { lead, text })).status, 201);
  }
  const answer = await api("GET", `contacts/${ada}/notes?orderBy=id&orderByDir=DESC`);
  const notes = listed(answer, "notes");
  assert.equal(answer.body.total, 2);
  assert.deepEqual(
    notes.map(({ text }) => text),
    ["second", "first"],
  );
  assert.deepEqual(Object.keys(notes[0] ?? {}), ["id", "text", "type", "dateTime", "lead"]);
  const [latest] = listed(await api("GET", `contacts/${ada}/notes?search=secon&limit=1`), "notes");
  assert.equal(latest?.text, "second");
  const page = await api("GET", `contacts/${ada}/notes?start=1&limit=1&orderBy=dateAdded`);
  assert.deepEqual([listed(page, "notes").length, page.body.total], [1, 2]);
});

test("a long page of notes has those of the contact alone", async () => {
  const answer = await api("GET", `contacts/${bob}/notes?limit=1000`);
  assert.deepEqual(
    listed(answer, "notes").map(({ text }) => text),
    ["of somebody else"],
  );
});

test("a contact's devices are listed, and without any the list is empty", async () => {
  assert.equal((await api("POST", "devices/new", { lead: ada, device: "tablet" })).status, 201);
  const [device] = listed(await api("GET", `contacts/${ada}/devices`), "devices");
  assert.equal(device?.device, "tablet");
  assert.equal((await api("GET", `contacts/${bob}/devices`)).text, '{"total":0,"devices":[]}');
});

test("the lists of a contact that does not exist are 404", async () => {
  for (const path of ["notes", "devices"]) {
    for (const id of [2_000_000_000, "0", "99999999999"]) {
      const answer = await api("GET", `contacts/${id}/${path}`);
      assert.equal(answer.status, 404);
      assert.equal(answer.body.errors[0]?.message, "Contact not found.");
    }
  }
});

test("a note without a contact says what is missing", async () => {
  const note = await api("POST", "notes/new", { text: "Whose?" });
  assert.deepEqual([note.status, note.body.errors[0]?.message], [400, "lead ID is mandatory"]);
  const device = await api("POST", "devices/new", {});
  assert.deepEqual([device.status, device.body.errors[0]?.message], [400, "contact ID is mandatory"]);
});
