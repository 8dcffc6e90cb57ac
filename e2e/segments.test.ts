import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { startReceiver } from "@tidings/testkit/receiver";
import type { Entity } from "./client.ts";
import { startTestStack } from "./stack.ts";

const stack = await startTestStack({ env: { webhook: { WEBHOOK_SCHEDULE: "0,0.1" } } });
after(() => stack.stop());

// The answers of these routes have shapes of their own.
type Body = Record<string, unknown>;
const api = async (method: string, path: string, body?: object) => {
  const answer = await stack.api(method, path, body);
  return { ...answer, body: answer.body as unknown as Body };
};

let count = 0;
const newCity = () => `City ${process.pid}-${++count}`;
const isFrom = (city: string) => ({
  glue: "and",
  object: "lead",
  field: "city",
  type: "text",
  operator: "=",
  filter: city,
});

async function create(path: string, one: string, body: object): Promise<number> {
  const answer = await api("POST", `${path}/new`, body);
  assert.equal(answer.status, 201, answer.text);
  return (answer.body[one] as Entity).id;
}

async function membersOf(alias: string): Promise<number[]> {
  const { body } = await api("GET", `contacts?search=segment:${alias}&orderBy=id`);
  return Object.keys(body.contacts as object).map(Number);
}

test("a contact that the filters find is a member soon, and leaves as soon as they do not find it", async () => {
  const city = newCity();
  const alias = city.toLowerCase().replaceAll(" ", "-");
  const early = await create("contacts", "contact", { city });
  await create("segments", "list", { name: city, filters: [isFrom(city)] });
  await eventually(async () => assert.deepEqual(await membersOf(alias), [early]));
  const late = await create("contacts", "contact", { city });
  await eventually(async () => assert.deepEqual(await membersOf(alias), [early, late]));
  assert.equal((await api("PATCH", `contacts/${early}/edit`, { city: newCity() })).status, 200);
  await eventually(async () => assert.deepEqual(await membersOf(alias), [late]));
});

test("a field that was just added can be asked for, and its values decide at once", async () => {
  const fieldAlias = `size_${process.pid}`;
  const contactId = await create("contacts", "contact", { firstname: "Ada" });
  await create("fields/contact", "field", { label: "Size", alias: fieldAlias, type: "number" });
  const filter = {
    glue: "and",
    object: "lead",
    field: fieldAlias,
    type: "number",
    operator: "gt",
    filter: "10",
  };
  const id = await create("segments", "list", { name: `Large ${newCity()}`, filters: [filter] });
  assert.equal((await api("PATCH", `contacts/${contactId}/edit`, { [fieldAlias]: 12 })).status, 200);
  await eventually(async () => {
    const { body } = await api("GET", `contacts/${contactId}/segments`);
    assert.deepEqual(Object.keys(body.segments as object), [String(id)]);
  });
});

test("members are added and removed by hand, one or many, by both forms of the URL", async () => {
  const [one, two] = [await create("contacts", "contact", {}), await create("contacts", "contact", {})];
  const id = await create("segments", "list", { name: newCity() });
  const isMember = async (contactId: number) => {
    const { body } = await api("GET", `contacts/${contactId}/segments`);
    return String(id) in (body.segments as object);
  };
  const done = async (path: string) => {
    const { status, body } = await api("POST", path);
    assert.deepEqual({ status, body }, { status: 200, body: { success: true } });
  };
  await done(`segments/${id}/contact/${one}/add`);
  assert.equal(await isMember(one), true);
  await done(`segments/${id}/contact/${one}/remove`);
  assert.equal(await isMember(one), false);
  await done(`segments/${id}/contact/add/${one}`);
  await done(`segments/${id}/contact/remove/${one}`);
  const missing = 2_000_000_000;
  const many = await api("POST", `segments/${id}/contacts/add`, { ids: [one, String(two), missing] });
  const details = { [one]: { success: true }, [two]: { success: true }, [missing]: { success: false } };
  assert.deepEqual(many.body, { success: true, details });
  assert.deepEqual([await isMember(one), await isMember(two)], [true, true]);
});

test("impossible segments are refused with 4xx", async () => {
  const contactId = await create("contacts", "contact", {});
  const id = await create("segments", "list", { name: newCity() });
  const statusOf = async (path: string, body?: object) => (await api("POST", path, body)).status;
  assert.equal(await statusOf(`segments/${id}/contact/2000000000/add`), 404);
  assert.equal(await statusOf(`segments/2000000000/contact/${contactId}/add`), 404);
  assert.equal(await statusOf(`segments/${id}/contacts/add`, {}), 400);
  for (const bad of [{}, 1.5, -1, 2.5e-42])
    assert.equal(await statusOf(`segments/${id}/contacts/add`, { ids: [bad] }), 400);
  assert.equal(
    await statusOf(`segments/${id}/contacts/add`, { ids: Array.from({ length: 201 }, (_, n) => n + 1) }),
    400,
  );
  assert.equal(await statusOf("segments/preview", { filters: [{ field: "nothing" }] }), 400);
  assert.equal((await api("GET", "segments/2000000000/build")).status, 404);
});

test("an alias is made of the name and numbered; a taken one is refused", async () => {
  const name = `Größe & Maß ${process.pid}`;
  const aliasOf = async (body: object) => {
    const answer = await api("POST", "segments/new", body);
    return (answer.body.list as { alias?: string } | undefined)?.alias ?? answer.status;
  };
  const alias = `grosse-mass-${process.pid}`;
  assert.equal(await aliasOf({ name }), alias);
  assert.equal(await aliasOf({ name }), `${alias}1`);
  assert.equal(await aliasOf({ name: "Another", alias }), 400);
  const many = await Promise.all(Array.from({ length: 20 }, () => aliasOf({ name })));
  assert.equal(new Set(many).size, 20);
});

test("segments may use each other, but neither in a circle nor behind each other's back", async () => {
  const uses = (...ids: number[]) => ({
    glue: "and",
    object: "lead",
    field: "leadlist",
    type: "leadlist",
    operator: "in",
    filter: ids,
  });
  const inner = await create("segments", "list", { name: newCity() });
  const outer = await create("segments", "list", { name: newCity(), filters: [uses(inner)] });
  const edit = (id: number, body: object) => api("PATCH", `segments/${id}/edit`, body);
  assert.equal((await edit(inner, { filters: [uses(outer)] })).status, 400);
  assert.equal((await edit(inner, { filters: [uses(inner)] })).status, 400);
  const unpublished = await edit(inner, { isPublished: false });
  assert.equal(unpublished.status, 422);
  assert.match(unpublished.text, /other segments use it/);
  const [one, two] = [
    await create("segments", "list", { name: newCity() }),
    await create("segments", "list", { name: newCity() }),
  ];
  const statuses = (
    await Promise.all([edit(one, { filters: [uses(two)] }), edit(two, { filters: [uses(one)] })])
  ).map(({ status }) => status);
  assert.deepEqual(statuses.toSorted(), [200, 400]);
});

test("filters can be tried before they are saved, and explain themselves afterwards", async () => {
  const city = newCity();
  const contactId = await create("contacts", "contact", { city, points: 3 });
  const filters = [
    isFrom(city),
    { glue: "and", object: "lead", field: "points", type: "number", operator: "gt", filter: 5 },
  ];
  const preview = await api("POST", "segments/preview", { filters: filters.slice(0, 1) });
  assert.deepEqual(preview.body, { count: 1, contacts: [contactId] });
  const id = await create("segments", "list", { name: newCity(), filters });
  const { body } = await api("GET", `segments/${id}/contact/${contactId}/explain`);
  const verdicts = (body.filters as { left: unknown; isMatched: boolean }[]).map(({ left, isMatched }) => ({
    left,
    isMatched,
  }));
  assert.deepEqual(verdicts, [
    { left: city, isMatched: true },
    { left: 3, isMatched: false },
  ]);
  assert.deepEqual([body.isMember, body.isMatched], [false, false]);
});

test("a build shows when it is done", async () => {
  const id = await create("segments", "list", { name: newCity(), filters: [isFrom(newCity())] });
  await eventually(async () => {
    const { body } = await api("GET", `segments/${id}/build`);
    assert.deepEqual([body.state, body.progress, body.added], ["done", 1, 0]);
  });
});

test("all segments are listed for a user who picks one", async () => {
  const name = newCity();
  const id = await create("segments", "list", { name });
  const { body } = await api("GET", "contacts/list/segments");
  assert.deepEqual(body[id], {
    id,
    name,
    alias: name.toLowerCase().replaceAll(" ", "-"),
  });
});

test("a webhook gets one delivery for each contact that comes or goes", async () => {
  const receiver = await startReceiver();
  try {
    const trigger = "svc.lead_list_change";
    const hook = await create("hooks", "hook", {
      name: "Members",
      webhookUrl: receiver.url,
      triggers: [trigger],
    });
    const city = newCity();
    const contactId = await create("contacts", "contact", { city });
    const id = await create("segments", "list", { name: city, filters: [isFrom(city)] });
    const told = () =>
      receiver.requests
        .flatMap(({ body }) => JSON.parse(String(body))[trigger])
        .filter(({ segment }) => segment.id === id)
        .map(({ contact, action }) => [contact.id, action]);
    await eventually(() => assert.deepEqual(told(), [[contactId, "added"]]));
    assert.equal((await api("POST", `segments/${id}/contact/${contactId}/remove`)).status, 200);
    await eventually(() =>
      assert.deepEqual(told().toSorted(), [
        [contactId, "added"],
        [contactId, "removed"],
      ]),
    );
    assert.equal((await api("DELETE", `hooks/${hook}/delete`)).status, 200);
  } finally {
    await receiver.stop();
  }
});
