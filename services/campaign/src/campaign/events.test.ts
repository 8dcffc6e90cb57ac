import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type Database, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { type Campaign, CampaignSchema } from "@tidings/proto/tidings/campaign/v1/campaign";
import type { Repository } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import fc from "fast-check";
import { references } from "../references.ts";
import { campaignsOf } from "./campaign.ts";

/** Events against a plain reading of what PATCH and PUT do with them. */
let testDatabase: TestDatabase;
let database: Database;
let campaigns: Repository<Campaign>;
before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("campaign"), log: createLog("test", "silent") });
  campaigns = campaignsOf({ database, outbox: createOutbox(), references: references(database) }, []);
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const call = (): Call => ({
  actor: { kind: "user", id: 1, name: "Ada", admin: true, permissions: {} },
  deadlineMs: Date.now() + 20_000,
  requestId: "test",
  reach: () => "all",
});

const edit = (
  id: number,
  isPut: boolean,
  events: { sentId: string; name: string; parent: string | undefined }[],
) =>
  campaigns.update(
    {
      id,
      message: create(CampaignSchema, {
        name: "A",
        events: events.map(({ sentId, name, parent }) => ({
          id: /^\d+$/.test(sentId) ? Number(sentId) : 0,
          sentId,
          name,
          type: "lead.changetags",
          ...(parent && { parent: { sentId: parent } }),
        })),
      }),
      updateMask: create(FieldMaskSchema, { paths: isPut ? ["*"] : ["events"] }),
      allowMissing: false,
    },
    call(),
  );

interface Known {
  id: number;
  name: string;
  parent: number | undefined;
}

/** The next write: changes of known events by their place, and new events, each below an earlier one. */
const write = fc.record({
  isPut: fc.boolean(),
  known: fc.uniqueArray(fc.nat(7), { maxLength: 5 }),
  added: fc.array(fc.option(fc.nat(3)), { maxLength: 3 }),
});

test("after any writes the events are those that the last of them left, in one graph with the canvas", async () => {
  let count = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 6 }), async (writes) => {
      const { item } = await campaigns.create(create(CampaignSchema, { name: "A" }), call());
      let expected: Known[] = [];
      for (const { isPut, known, added } of writes) {
        const named = known.flatMap((at) => expected[at] ?? []);
        const isKept = (id: number | undefined) => !isPut || named.some((event) => event.id === id);
        const sent = named.map((event) => ({
          sentId: String(event.id),
          name: `Changed ${++count}`,
          parent: event.parent && isKept(event.parent) ? String(event.parent) : undefined,
        }));
        for (const [index, below] of added.entries()) {
          const parent = below === null ? undefined : sent[below]?.sentId;
          sent.push({ sentId: `new_${index}`, name: `New ${++count}`, parent });
        }
        const { item: saved } = await edit(item.id, isPut, sent);
        const byName = new Map(saved.events.map((event) => [event.name, event.id]));
        const idOf = (sentId: string | undefined) =>
          byName.get(sent.find((one) => one.sentId === sentId)?.name ?? "");
        const written = sent.map(({ sentId, name, parent }) => ({
          id: idOf(sentId) ?? 0,
          name,
          parent: idOf(parent),
        }));
        const stayed = isPut ? [] : expected.filter(({ id }) => !written.some((event) => event.id === id));
        // A PATCH of an event without a parent keeps its parent.
        const before = new Map(expected.map((event) => [event.id, event]));
        expected = [
          ...stayed,
          ...written.map((event) =>
            isPut || event.parent ? event : { ...event, parent: before.get(event.id)?.parent },
          ),
        ].sort((one, other) => one.id - other.id);
        const read = await campaigns.get(item.id, call());
        assert.deepEqual(
          read.events
            .map(({ id, name, parent }) => ({ id, name, parent: parent?.id }))
            .sort((one, other) => one.id - other.id),
          expected,
        );
        await assertOneGraph(read);
      }
    }),
    { numRuns: 30 },
  );
});

test("edits of one campaign at the same time lose nothing, and leave one graph", async () => {
  const { item } = await campaigns.create(create(CampaignSchema, { name: "A" }), call());
  const names = Array.from({ length: 12 }, (_, index) => `Event ${index}`);
  await Promise.all(
    names.map((name) => edit(item.id, false, [{ sentId: "new_1", name, parent: undefined }])),
  );
  const made = (await campaigns.get(item.id, call())).events;
  assert.deepEqual(made.map(({ name }) => name).sort(), names.toSorted());
  // Each is renamed, and put below the first, by somebody else.
  const [first] = made;
  await Promise.all(
    made.map(({ id, name }) =>
      edit(item.id, false, [
        { sentId: String(id), name: `${name}!`, parent: id === first?.id ? undefined : String(first?.id) },
      ]),
    ),
  );
  const read = await campaigns.get(item.id, call());
  assert.deepEqual(read.events.map(({ name }) => name).sort(), names.map((name) => `${name}!`).sort());
  assert.equal(read.events.filter(({ parent }) => parent?.id === first?.id).length, names.length - 1);
  await assertOneGraph(read);
});

async function assertOneGraph({ id, events, canvasSettings }: Campaign): Promise<void> {
  const byId = new Map(events.map((event) => [event.id, event]));
  for (const event of events) {
    const parent = event.parent && byId.get(event.parent.id);
    assert.equal(event.order, (parent?.order ?? 0) + 1);
    assert.equal(parent !== undefined, event.parent !== undefined);
    if (parent) assert.ok(parent.children.some((child) => child.id === event.id));
  }
  const { nodes = [], connections = [] } = JSON.parse(Buffer.from(canvasSettings ?? []).toString());
  assert.deepEqual(
    new Set(nodes.map((node: { id: string }) => Number(node.id))),
    new Set(events.map((event) => event.id)),
  );
  assert.deepEqual(
    new Set(
      connections.map((one: { sourceId: string; targetId: string }) => `${one.sourceId} ${one.targetId}`),
    ),
    new Set(events.flatMap((event) => (event.parent ? [`${event.parent.id} ${event.id}`] : []))),
  );
  const rows = await database.query(
    { text: "select id, parent_id, level from campaign_events where campaign_id = $1 order by id" },
    [id],
    Date.now() + 20_000,
  );
  assert.deepEqual(
    rows.map((row) => [Number(row.id), row.parent_id && Number(row.parent_id), Number(row.level)]),
    [...byId.values()]
      .sort((one, other) => one.id - other.id)
      .map((event) => [event.id, event.parent?.id ?? null, event.order]),
  );
}
