import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { Entity } from "./client.ts";
import { make } from "./people.ts";
import { sharedStack } from "./shared-stack.ts";

const stack = await sharedStack();
const { api } = stack;

let count = 0;
const newStage = (members: object = {}) =>
  make(api, "stages", "stage", { name: `Stage ${++count}`, ...members });
const newContact = () => make(api, "contacts", "contact", { firstname: "Ada" });
const stageOf = async (id: number): Promise<Entity | null> => {
  const { body } = await api("GET", `contacts/${id}`);
  return (body as unknown as { contact: { stage: Entity | null } }).contact.stage;
};
const send = async (path: string, status = 200) => {
  const answer = await api("POST", path);
  assert.equal(answer.status, status, answer.text);
  return answer;
};

test("a contact is put into a stage that was made a moment ago, into another one, and out of whichever it is in", async () => {
  const contact = await newContact();
  const first = await newStage({ weight: 7, description: "At last" });
  const { body } = await send(`stages/${first.id}/contact/${contact.id}/add`);
  assert.deepEqual(body, { success: true });
  const shown = await stageOf(contact.id);
  assert.deepEqual([shown?.id, shown?.weight, shown?.description], [first.id, 7, "At last"]);
  const second = await newStage();
  await send(`stages/${second.id}/contact/add/${contact.id}`);
  assert.equal((await stageOf(contact.id))?.id, second.id);
  await send(`stages/${first.id}/contact/${contact.id}/remove`);
  assert.equal(await stageOf(contact.id), null);
});

test("a stage or contact that is not there is 404", async () => {
  const [contact, stage] = [await newContact(), await newStage()];
  await send(`stages/2000000000/contact/${contact.id}/add`, 404);
  await send(`stages/${stage.id}/contact/2000000000/add`, 404);
  await send(`stages/${stage.id}/contact/2000000000/remove`, 404);
});

test("a contact shows what its stage is called now, and no stage that is gone", async () => {
  const [contact, stage] = [await newContact(), await newStage()];
  await send(`stages/${stage.id}/contact/${contact.id}/add`);
  await api("PATCH", `stages/${stage.id}/edit`, { name: "Renamed" });
  await eventually(async () => assert.equal((await stageOf(contact.id))?.name, "Renamed"));
  await api("DELETE", `stages/${stage.id}/delete`);
  await eventually(async () => assert.equal(await stageOf(contact.id), null));
});

test("stages are found by category, and lose one that is gone", async () => {
  const category = await make(api, "categories", "category", { title: `Sales ${++count}`, bundle: "stage" });
  const stage = await newStage({ category: category.id });
  const found = async (search: string) => {
    const { body } = await api("GET", `stages?search=${encodeURIComponent(search)}`);
    return (body as unknown as { stages: Entity[] }).stages.some(({ id }) => id === stage.id);
  };
  assert.ok(await found(`category:${category.alias}`));
  assert.ok(!(await found("is:uncategorized")));
  await api("DELETE", `categories/${category.id}/delete`);
  await eventually(async () => assert.ok(await found("is:uncategorized")));
});

test("a category of another bundle is refused by the name of the member", async () => {
  const { id } = await make(api, "categories", "category", { title: "For emails", bundle: "email" });
  const answer = await api("POST", "stages/new", { name: "Misplaced", category: id });
  assert.equal(answer.status, 400);
  assert.match(answer.text, /category/);
});
