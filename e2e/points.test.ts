import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import type { Entity } from "./client.ts";
import { make } from "./people.ts";
import { sharedStack } from "./shared-stack.ts";

const stack = await sharedStack();
const { api } = stack;

let count = 0;
const newTrigger = (members: object = {}) =>
  make(api, "points/triggers", "trigger", { name: `Trigger ${++count}`, ...members });
const newGroup = () => make(api, "points/groups", "pointGroup", { name: `Group ${++count}` });

async function answered(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
  const answer = await api(method, path, body);
  assert.equal(answer.status, 200, answer.text);
  return answer.body as unknown as Record<string, unknown>;
}

const eventsOf = ({ events }: Entity) => Object.values(events as Record<string, Entity>);
const namesOf = (trigger: Entity) => eventsOf(trigger).map(({ name, order }) => `${order} ${name}`);

test("the types of point actions and of events of triggers are listed", async () => {
  assert.deepEqual(await answered("GET", "points/actions/types"), {
    pointActionTypes: {
      "asset.download": "Downloads an asset",
      "email.send": "Is sent an email",
      "email.open": "Opens an email",
      "form.submit": "Submits a form",
      "page.hit": "Visits a landing page",
      "url.hit": "Visits specific URL",
    },
  });
  assert.deepEqual(await answered("GET", "points/triggers/events/types"), {
    eventTypes: {
      "campaign.changecampaign": "Modify contact's campaigns",
      "lead.changelists": "Modify contact's segments",
      "lead.changetags": "Modify contact's tags",
      "plugin.leadpush": "Push contact to integration",
      "email.send": "Send an email",
    },
  });
});

describe("a trigger's events", () => {
  const events = ["first", "second", "third"].map((name) => ({
    name,
    type: "lead.changetags",
    properties: { add_tags: [name] },
  }));

  test("are answered by their ids, in their order, and changed in place", async () => {
    const trigger = await newTrigger({ events, trigger_existing_leads: 1 });
    assert.equal(trigger.triggerExistingLeads, true);
    const byId = trigger.events as Record<string, Entity>;
    assert.deepEqual(
      Object.entries(byId)
        .map(([id, event]) => [id, String(event.id)])
        .filter(([key, id]) => key !== id),
      [],
    );
    assert.deepEqual(namesOf(trigger), ["1 first", "2 second", "3 third"]);
    const [first] = eventsOf(trigger);
    const body = {
      events: [
        { id: first?.id, name: "renamed" },
        { name: "fourth", type: "email.send_to_user" },
      ],
    };
    const { trigger: changed } = await answered("PATCH", `points/triggers/${trigger.id}/edit`, body);
    assert.deepEqual(namesOf(changed as Entity), ["1 renamed", "2 second", "3 third", "4 fourth"]);
  });

  test("events that a PUT does not name are deleted, and unknown ids are 404", async () => {
    const trigger = await newTrigger({ events });
    const [, second] = eventsOf(trigger);
    const path = `points/triggers/${trigger.id}/edit`;
    const missing = await api("PUT", path, { name: "A", events: [{ id: 2_000_000_000, name: "x" }] });
    assert.equal(missing.status, 404, missing.text);
    const replacing = { name: "A", events: [{ id: second?.id }, { name: "new", type: "email.send" }] };
    const { trigger: replaced } = await answered("PUT", path, replacing);
    assert.deepEqual(namesOf(replaced as Entity), ["1 second", "2 new"]);
  });

  test("are deleted by their ids, and the answer has no empty members", async () => {
    const trigger = await newTrigger({ events });
    const [first, second, third] = eventsOf(trigger).map(({ id }) => id);
    const query = `events[]=${first}&events[]=${third}&events[]=2000000000`;
    const { trigger: left } = await answered(
      "DELETE",
      `points/triggers/${trigger.id}/events/delete?${query}`,
    );
    assert.deepEqual(
      eventsOf(left as Entity).map(({ id }) => id),
      [second],
    );
    assert.ok(!JSON.stringify(left).includes("null"));
    const unknown = await api("DELETE", "points/triggers/2000000000/events/delete?events[]=1");
    assert.equal(unknown.status, 404);
    const many = Array.from({ length: 1_001 }, (_, index) => `events[]=${index + 1}`).join("&");
    for (const wrong of [many, "events[]=none", "events[a][b]=1"])
      assert.equal((await api("DELETE", `points/triggers/${trigger.id}/events/delete?${wrong}`)).status, 400);
  });

  test("are answered as an empty list when there are none", async () => {
    assert.deepEqual((await newTrigger()).events, []);
  });
});

test("a group that is deleted is gone from actions and triggers", async () => {
  const group = await newGroup();
  const trigger = await newTrigger({ group: group.id });
  const action = await make(api, "points", "point", {
    name: `Action ${++count}`,
    type: "page.hit",
    delta: 3,
    group: { id: group.id },
  });
  assert.deepEqual(action.group, { id: group.id, name: group.name, description: null });
  await answered("DELETE", `points/groups/${group.id}/delete`);
  assert.equal(((await answered("GET", `points/${action.id}`)).point as Entity).group, null);
  assert.equal(((await answered("GET", `points/triggers/${trigger.id}`)).trigger as Entity).group, null);
});

test("categories of points are found by, and leave what they are taken from", async () => {
  const category = await make(api, "categories", "category", { title: `Points ${++count}`, bundle: "point" });
  const trigger = await newTrigger({ category: category.id });
  const found = async () => {
    const { triggers } = await answered("GET", `points/triggers?search=category:${category.alias}`);
    return (triggers as Entity[]).map(({ id }) => id);
  };
  assert.deepEqual(await found(), [trigger.id]);
  await answered("DELETE", `categories/${category.id}/delete`);
  await eventually(async () => assert.deepEqual(await found(), []));
});

describe("a contact", () => {
  const newContact = (members: object = {}) =>
    make(api, "contacts", "contact", { firstname: "Ada", ...members });
  const colorOf = async (id: number) => ((await answered("GET", `contacts/${id}`)).contact as Entity).color;

  test("has the colour of the highest published trigger it reaches, wherever it is shown", async () => {
    const [low, high] = [await newContact({ points: 1_150 }), await newContact({ points: 1_250 })];
    const first = await newTrigger({ points: 1_100, color: "00ff00" });
    const second = await newTrigger({ points: 1_200, color: "ff0000" });
    const group = await newGroup();
    await newTrigger({ points: 1_240, color: "111111", group: group.id });
    await newTrigger({ points: 1_241, color: "222222", isPublished: false });
    await eventually(async () => {
      assert.equal(await colorOf(high.id), "ff0000");
      assert.equal(await colorOf(low.id), "00ff00");
    });
    const { contacts } = await answered("GET", `contacts?search=ids:${high.id}`);
    assert.equal((contacts as Record<string, Entity>)[high.id]?.color, "ff0000");
    await answered("POST", `contacts/${low.id}/points/plus/60`);
    assert.equal(await colorOf(low.id), "ff0000");
    await answered("PATCH", `points/triggers/${second.id}/edit`, { isPublished: false });
    await eventually(async () => assert.equal(await colorOf(high.id), "00ff00"));
    await answered("DELETE", `points/triggers/${first.id}/delete`);
    await eventually(async () => assert.notEqual(await colorOf(high.id), "00ff00"));
  });

  test("has a score in each group, from the moment the group is there until it is gone", async () => {
    const [contact, group] = [await newContact(), await newGroup()];
    const path = `contacts/${contact.id}/points/groups`;
    assert.deepEqual(await answered("GET", `${path}/${group.id}`), { groupScore: null });
    assert.deepEqual(await answered("GET", path), { total: 0, groupScores: [] });
    const shown = { id: group.id, name: group.name, description: null };
    const added = await answered("POST", `${path}/${group.id}/plus/5`, { eventName: "Fair" });
    assert.deepEqual(added, { groupScore: { score: 5, group: shown } });
    await answered("POST", `${path}/${group.id}/set/-3`);
    assert.deepEqual(await answered("GET", path), { total: 1, groupScores: [{ score: -3, group: shown }] });
    assert.equal(((await answered("GET", `contacts/${contact.id}`)).contact as Entity).points, 0);
    await answered("DELETE", `points/groups/${group.id}/delete`);
    await eventually(async () => assert.equal((await answered("GET", path)).total, 0));
  });

  test("a missing contact, a missing group and a change of nothing are refused in words that clients know", async () => {
    const [contact, group] = [await newContact(), await newGroup()];
    const path = `contacts/${contact.id}/points/groups`;
    for (const [method, asked, status, said] of [
      ["GET", "contacts/2000000000/points/groups", 404, "Contact could not be found."],
      ["POST", `contacts/2000000000/points/groups/${group.id}/plus/1`, 404, "Contact could not be found."],
      ["GET", `${path}/2000000000`, 404, "The specified point group was not found."],
      ["POST", `${path}/none/plus/1`, 404, "The specified point group was not found."],
      ["POST", `${path}/${group.id}/power/2`, 400, "The requested operation is not permitted."],
      ["POST", `${path}/${group.id}/plus/-2`, 400, "The points must be a whole number."],
      ["POST", `${path}/${group.id}/set/99999999999`, 400, "The points must be a whole number."],
    ] as const) {
      const answer = await api(method, asked);
      assert.deepEqual([answer.status, answer.body.errors[0]?.message], [status, said], asked);
    }
  });

  test("shows the category of its stage", async () => {
    const category = await make(api, "categories", "category", {
      title: `Sales ${++count}`,
      bundle: "stage",
    });
    const stage = await eventually(() =>
      make(api, "stages", "stage", { name: `Stage ${++count}`, category: category.id }),
    );
    const { id } = await newContact();
    await answered("POST", `stages/${stage.id}/contact/${id}/add`);
    const categoryOf = async () =>
      (((await answered("GET", `contacts/${id}`)).contact as Entity).stage as Entity)
        .category as Entity | null;
    await eventually(async () => assert.equal((await categoryOf())?.title, category.title));
    await answered("DELETE", `categories/${category.id}/delete`);
    await eventually(async () => assert.equal(await categoryOf(), null));
  });
});
