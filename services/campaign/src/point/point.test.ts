import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type Database, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { PointActionSchema } from "@tidings/proto/tidings/campaign/v1/point_action";
import { PointGroupSchema } from "@tidings/proto/tidings/campaign/v1/point_group";
import { type PointTrigger, PointTriggerSchema } from "@tidings/proto/tidings/campaign/v1/point_trigger";
import { categoryReference } from "@tidings/resource/category-reference";
import { repository } from "@tidings/resource/repository";
import type { Repository } from "@tidings/resource/repository-options";
import { resourceReference } from "@tidings/resource/resource-reference";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import fc from "fast-check";
import { pointActions } from "./action.ts";
import { POINT_GROUP_SHOWN } from "./service.ts";
import { pointTriggers } from "./trigger.ts";

let testDatabase: TestDatabase;
let database: Database;
let triggers: Repository<PointTrigger>;
let actions: ReturnType<typeof pointActions>;
let groups: ReturnType<typeof repository>;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("campaign"), log: createLog("test", "silent") });
  const references = {
    category: categoryReference(database),
    point_group: resourceReference(PointGroupSchema, POINT_GROUP_SHOWN),
  };
  const findVisible = async (_schema: unknown, ids: number[]) => new Set(ids);
  const context = { database, outbox: createOutbox(), references, findVisible };
  triggers = pointTriggers(context);
  actions = pointActions(context);
  groups = repository(context, PointGroupSchema);
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

type Init = MessageInitShape<typeof PointTriggerSchema>;
type Properties = Record<string, unknown>;

const call = (): Call => ({
  actor: { kind: "user", id: 1, name: "Ada", admin: true, permissions: {} },
  deadlineMs: Date.now() + 20_000,
  requestId: "test",
  reach: () => "all",
});
const bytes = (value: unknown) => Buffer.from(JSON.stringify(value));
const read = (value: Uint8Array | undefined): unknown => JSON.parse(Buffer.from(value ?? []).toString());

const add = async (init: Init = {}) =>
  (await triggers.create(create(PointTriggerSchema, { name: "Warm", ...init }), call())).item;
const updateOf = (id: number, init: Init, paths: string[]) => ({
  id,
  message: create(PointTriggerSchema, init),
  updateMask: create(FieldMaskSchema, { paths }),
  allowMissing: false,
});
const edit = async (id: number, init: Init, ...paths: string[]) =>
  (await triggers.update(updateOf(id, init, paths), call())).item;
const remove = async (id: number, ids: number[]) =>
  (await triggers.update({ ...updateOf(id, {}, []), removed: { field: "events", ids } }, call())).item;
const namesOf = ({ events }: PointTrigger) => events.map(({ name, order }) => `${order} ${name}`);

const action = (type: string, properties: unknown) =>
  create(PointActionSchema, { name: "Visit", type, delta: 1, properties: bytes(properties) });
const event = (type: string, properties: Properties) => ({
  name: "Then",
  type,
  properties: bytes(properties),
});

async function blamed(promise: Promise<unknown>): Promise<string[]> {
  let fields: string[] = [];
  await assert.rejects(promise, (error) => {
    assert.ok(error instanceof Fault && error.code === Code.INVALID_ARGUMENT, String(error));
    fields = error.violations.map(({ field }) => field);
    return true;
  });
  return fields;
}

describe("properties of a point action", () => {
  const kept: [type: string, sent: unknown, kept: unknown][] = [
    ["email.open", { emails: ["3", 1, 3] }, { emails: [3, 1] }],
    ["email.send", [], []],
    ["email.send", {}, []],
    ["form.submit", { forms: "4|5" }, { forms: [4, 5] }],
    ["page.hit", { pages: { 0: 7 } }, { pages: [7] }],
    ["asset.download", { assets: "", categories: 2 }, { assets: [], categories: [2] }],
    [
      "url.hit",
      { page_url: "https://example.com/*", page_hits: "3", first_time: "1", returns_within: "" },
      { page_url: "https://example.com/*", page_hits: 3, first_time: 1, returns_within: null },
    ],
    ["page.hit", { pages: [1], since: "spring" }, { pages: [1], since: "spring" }],
  ];
  for (const [type, sent, expected] of kept)
    test(`${type} with ${JSON.stringify(sent)} is kept`, async () => {
      const { item } = await actions.create(action(type, sent), call());
      const again = await actions.get(item.id, call());
      assert.deepEqual(read(again.properties), expected);
    });

  const refused: [type: string, sent: unknown, field: string][] = [
    ["email.read", {}, "type"],
    ["constructor", {}, "type"],
    ["email.open", "3", "properties"],
    ["email.open", [3], "properties"],
    ["email.open", { emails: [0] }, "properties.emails"],
    ["email.open", { emails: [2 ** 31] }, "properties.emails"],
    ["email.open", { emails: [[1]] }, "properties.emails"],
    ["email.open", { emails: Array.from({ length: 1_001 }, (_, index) => index + 1) }, "properties.emails"],
    ["url.hit", {}, "properties.page_url"],
    ["url.hit", { page_url: "" }, "properties.page_url"],
    ["url.hit", { page_url: "/", page_hits: -1 }, "properties.page_hits"],
    ["url.hit", { page_url: "/", first_time: "perhaps" }, "properties.first_time"],
    ["url.hit", { page_url: { a: 1 } }, "properties.page_url"],
  ];
  for (const [type, sent, field] of refused)
    test(`${type} with ${JSON.stringify(sent).slice(0, 60)} is refused for ${field}`, async () => {
      assert.deepEqual(await blamed(actions.create(action(type, sent), call())), [field]);
    });

  test("a type that is changed asks for the properties of the new one", async () => {
    const { item } = await actions.create(action("email.open", { emails: [1] }), call());
    const update = (message: ReturnType<typeof action>, ...paths: string[]) =>
      actions.update(
        { id: item.id, message, updateMask: create(FieldMaskSchema, { paths }), allowMissing: false },
        call(),
      );
    assert.deepEqual(await blamed(update(action("url.hit", {}), "type")), ["properties.page_url"]);
    await update(action("url.hit", { page_url: "/" }), "type", "properties");
  });

  test("points have to be said, and none is what may be said", async () => {
    const { delta: _delta, ...silent } = action("page.hit", {});
    assert.deepEqual(await blamed(actions.create(create(PointActionSchema, silent), call())), ["delta"]);
    const { item } = await actions.create({ ...action("page.hit", {}), delta: 0 }, call());
    assert.equal(item.delta, 0);
  });
});

describe("events of a trigger", () => {
  const refused: [type: string, properties: Properties, property: string][] = [
    ["email.send", { email: "first" }, "email"],
    ["email.send_to_user", { to: "nobody" }, "to"],
    ["email.send_to_user", { useremail: { email: -1 } }, "useremail"],
    ["lead.changetags", { add_tags: ["x".repeat(192)] }, "add_tags"],
    ["lead.changelists", { removeFromLists: ["all"] }, "removeFromLists"],
    ["campaign.changecampaign", { addTo: ["this"] }, "addTo"],
    ["plugin.leadpush", { integration: ["a"] }, "integration"],
  ];
  for (const [type, properties, property] of refused)
    test(`${type} with ${JSON.stringify(properties).slice(0, 60)} is refused`, async () => {
      const events = [event("email.send", {}), event(type, properties)];
      assert.deepEqual(await blamed(add({ events })), [`events[1].properties.${property}`]);
    });

  test("tags are texts, each of them once, and mails go to people and to who a field names", async () => {
    const { events } = await add({
      events: [
        event("lead.changetags", { add_tags: ["a", "<b>b</b>", "a", 7], remove_tags: "" }),
        event("email.send_to_user", {
          useremail: { email: "5" },
          to: "a@example.com,{contactfield=email}",
          to_owner: 1,
        }),
      ],
    });
    assert.deepEqual(
      events.map(({ properties }) => read(properties)),
      [
        { add_tags: ["a", "b", "7"], remove_tags: [] },
        { useremail: { email: 5 }, to: "a@example.com, {contactfield=email}", to_owner: 1 },
      ],
    );
  });

  for (const color of ["#ff8800", "ff88", "gggggg", "ff8800 "])
    test(`${color} is no colour`, async () => {
      assert.deepEqual(await blamed(add({ color })), ["color"]);
    });

  test("events are taken out by their ids, those of other triggers stay", async () => {
    const { id, events } = await add({
      events: ["a", "b", "c"].map((name) => ({ name, type: "email.send" })),
    });
    const other = await add({ events: [{ name: "theirs", type: "email.send" }] });
    const left = await remove(id, [events[1]?.id ?? 0, other.events[0]?.id ?? 0, 2_000_000_000]);
    assert.deepEqual(namesOf(left), ["1 a", "2 c"]);
    assert.deepEqual(namesOf(await triggers.get(other.id, call())), ["1 theirs"]);
  });

  test("an event is changed by an id of the trigger, and by no other", async () => {
    const other = await add({ events: [{ name: "theirs", type: "email.send" }] });
    const { id } = await add();
    const stolen = edit(id, { events: [{ id: other.events[0]?.id ?? 0, name: "mine" }] }, "events");
    await assert.rejects(stolen, (error) => error instanceof Fault && error.code === Code.NOT_FOUND);
  });
});

test("a group that is gone leaves nothing that refers to it", async () => {
  const { item: group } = await groups.create(create(PointGroupSchema, { name: "Sales" }) as never, call());
  const trigger = await add({ group: { id: group.id } });
  const { item } = await actions.create(
    { ...action("page.hit", {}), group: { id: group.id } as never },
    call(),
  );
  assert.deepEqual(read(trigger.group?.shown), { id: group.id, name: "Sales", description: null });
  await groups.delete(group.id, call());
  assert.equal((await triggers.get(trigger.id, call())).group, undefined);
  assert.equal((await actions.get(item.id, call())).group, undefined);
});

/** One edit of a trigger: events that it has by their places, and how many new ones. */
interface Step {
  verb: "patch" | "put" | "remove";
  places: number[];
  added: number;
}

const step: fc.Arbitrary<Step> = fc.record({
  verb: fc.constantFrom("patch", "put", "remove"),
  places: fc.uniqueArray(fc.nat(5), { maxLength: 4 }),
  added: fc.nat(2),
});

test("whatever edits follow, a trigger has the events they say, numbered from 1", async () => {
  let count = 0;
  const isPlace = (known: unknown[]) => (place: number) => place < known.length;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
      let { id, events } = await add();
      let model: { id: number; name: string }[] = [];
      for (const { verb, places, added } of steps) {
        const known = places.filter(isPlace(model)).map((place) => model[place]?.id ?? 0);
        const fresh = Array.from({ length: added }, () => ({
          id: 0,
          name: `New ${++count}`,
          type: "email.send",
        }));
        const changed = known.map((eventId) => ({ id: eventId, name: `Changed ${++count}` }));
        const sent = { name: "Warm", events: [...changed, ...fresh] };
        const nameOf = (event: { id: number; name: string }) =>
          changed.find((change) => change.id === event.id) ?? event;
        if (verb === "remove") {
          ({ events } = await remove(id, known));
          model = model.filter((event) => !known.includes(event.id));
        } else {
          ({ events } = await edit(id, sent, verb === "put" ? "*" : "events"));
          const stayed = verb === "put" ? changed : model.map(nameOf);
          model = [...stayed, ...fresh].map(({ id: eventId, name }, index) => ({
            id: eventId || (events[index]?.id ?? 0),
            name,
          }));
        }
        const expected = model.map((event, index) => ({ ...event, order: index + 1 }));
        const stored = await triggers.get(id, call());
        assert.deepEqual(
          stored.events.map((event) => ({ id: event.id, name: event.name, order: event.order })),
          expected,
        );
        assert.equal(new Set(stored.events.map((event) => event.id)).size, stored.events.length);
      }
    }),
    { numRuns: 40 },
  );
});
