import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type Bus, connectBus } from "@tidings/bus/connect";
import { streamOf } from "@tidings/bus/streams";
import { type Database, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { startRelay } from "@tidings/messaging/relay";
import { type Category, CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { repository } from "@tidings/resource/repository";
import type { Repository } from "@tidings/resource/repository-options";
import { resourceSnapshots } from "@tidings/resource/snapshots";
import type { Call } from "@tidings/rpc/call";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { startTestNats } from "@tidings/testkit/nats";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { categories } from "./categories.ts";
import { startProjecting } from "./projecting.ts";
import type { Projection } from "./projection.ts";

/** The content service owns categories, and the campaign service keeps them: with what is real but for the call between them. */

const log = createLog("test", "silent");
let testDatabase: TestDatabase;
let owner: Database;
let reader: Database;
let bus: Bus;
let owned: Repository<Category>;
const stops: (() => Promise<unknown>)[] = [];

before(async () => {
  testDatabase = await createTestDatabase();
  const url = testDatabase.url("content");
  owner = openDatabase({ url, log });
  reader = openDatabase({ url: testDatabase.url("campaign"), log });
  const nats = await startTestNats();
  bus = connectBus({ url: nats.url, name: "test", log });
  const outbox = createOutbox();
  const relay = startRelay({
    database: owner,
    databaseUrl: url,
    outbox,
    bus,
    stream: streamOf("content"),
    log,
  });
  owned = repository<Category>({ database: owner, outbox }, CategorySchema);
  stops.push(relay.stop, bus.close, nats.stop, owner.close, reader.close, testDatabase.drop);
});
after(async () => {
  for (const stop of stops) await stop();
});

const call = (): Call => ({
  actor: { kind: "user", id: 1, name: "Ada", admin: true, permissions: {} },
  deadlineMs: Date.now() + 20_000,
  requestId: "test",
  reach: () => "all",
});
const message = (title: string) => create(CategorySchema, { title, bundle: "stage" });
const updateMask = create(FieldMaskSchema, { paths: ["title"] });
const rowsOf = (database: Database) =>
  database.query({ text: "select id, title, version from categories order by id" }, [], Date.now() + 20_000);
const forget = (text: string) => reader.query({ text }, [], Date.now() + 20_000);

function startReader(
  listSnapshots: Parameters<typeof startProjecting>[0]["listSnapshots"],
  isCurrent?: () => Promise<boolean>,
  projection: Projection = categories(["stages"]),
) {
  const options = { service: "campaign", database: reader, bus, log };
  return startProjecting({
    ...options,
    projections: [projection],
    listSnapshots,
    isCurrent,
    listFacts: async () => ({ events: [], next: undefined }),
  });
}

const fromOwner: Parameters<typeof startReader>[0] = (_owner, page) =>
  resourceSnapshots(owner, CategorySchema).list(page, Date.now() + 20_000);

test("a projection is made from nothing while its owner is written to, and an owner that is away is waited for", async () => {
  const made = await owned.batchCreate(
    Array.from({ length: 1_200 }, (_, index) => message(`Category ${index}`)),
    call(),
  );
  const ids = made.items.map(({ id }) => id);
  await eventually(async () => {
    const [row] = await owner.query(
      { text: "select count(*) as waiting from outbox_waiting" },
      [],
      Date.now() + 20_000,
    );
    assert.equal(row?.waiting, "0");
  });
  // The stream no longer has the events of seven days ago.
  await bus.client().manager.streams.purge("CONTENT");

  let asked = 0;
  const reading = startReader(async (...request) => {
    asked += 1;
    if (asked % 2 === 1) throw new Error("the owner is away");
    const page = await fromOwner(...request);
    // Entities change between the reading of a page and its keeping.
    const [first, second, third] = page.map(({ id }) => id);
    if (first)
      await owned.update({ id: first, message: message("Changed"), updateMask, allowMissing: false }, call());
    if (second) await owned.delete(second, call());
    if (third) await owned.batchDelete([third], call());
    await owned.create(message("New"), call());
    return page;
  });
  await owned.delete(ids.at(-1) ?? 0, call());
  await eventually(
    async () => {
      const [build] = await forget("select done_at is not null as done from projection_builds");
      assert.equal(build?.done, "t");
      assert.deepEqual(await rowsOf(reader), await rowsOf(owner));
    },
    { timeoutMs: 30_000 },
  );
  await reading.stop();
  assert.ok(asked >= 6);
});

test("a service that lost its tables makes them again", async () => {
  await forget("delete from categories");
  await forget("delete from projected_versions");
  await forget("delete from projection_builds");
  const reading = startReader(fromOwner);
  await eventually(async () => assert.deepEqual(await rowsOf(reader), await rowsOf(owner)), {
    timeoutMs: 30_000,
  });
  await reading.stop();
});

test("a replica is built anew beside the live one, which answers meanwhile, while its owner is written to", async () => {
  // A replica that nobody noticed going wrong: a row too many, one too few, and one with another title.
  await forget(
    "insert into categories (id, version, title, alias, bundle) values (2000000000, 1, 'Never there', 'never', 'stage')",
  );
  await forget("delete from categories where id = (select max(id) from categories where id < 2000000000)");
  await forget("update categories set title = 'Wrong' where id = (select min(id) from categories)");
  const [before] = await forget("select count(*) from categories");
  await forget("select begin_projection_beside('categories')");
  let pages = 0;
  const listing: Parameters<typeof startReader>[0] = async (...request) => {
    const page = await fromOwner(...request);
    pages += 1;
    const last = page.at(-1)?.id;
    if (last) await owned.delete(last, call());
    await owned.create(message("Made during the build"), call());
    // The live rows are all there until the switch.
    const [live] = await forget("select count(*) from categories");
    assert.ok(Number(live?.count) >= Number(before?.count) - 2 * pages);
    return page;
  };
  const first = startReader(listing);
  await eventually(() => assert.ok(pages >= 1));
  await first.stop();
  const [begun] = await forget(
    "select is_beside, rows_read from projection_builds where name = 'categories'",
  );
  assert.equal(begun?.is_beside, "t");
  assert.ok(Number(begun?.rows_read) > 0);
  const second = startReader(listing);
  await eventually(
    async () => {
      const [build] = await forget(
        "select done_at is not null as done from projection_builds where name = 'categories'",
      );
      assert.equal(build?.done, "t");
      assert.deepEqual(await rowsOf(reader), await rowsOf(owner));
    },
    { timeoutMs: 30_000 },
  );
  await second.stop();
  assert.deepEqual(await forget("select id from projected_beside"), []);
});

test("a process of an earlier version builds nothing once the schema is of a later one", async () => {
  await forget("select begin_projection_beside('categories')");
  let asked = 0;
  const outdated = startReader(
    async (...request) => {
      asked += 1;
      return fromOwner(...request);
    },
    async () => false,
  );
  await owned.create(message("Made meanwhile"), call());
  await eventually(async () => assert.deepEqual(await rowsOf(reader), await rowsOf(owner)));
  await outdated.stop();
  assert.equal(asked, 0);
  const current = startReader(fromOwner);
  await eventually(async () => {
    const [build] = await forget(
      "select done_at is not null as done from projection_builds where name = 'categories'",
    );
    assert.equal(build?.done, "t");
  });
  await current.stop();
});

test("projections are built anew by a version whose durable an earlier version has read since", async () => {
  await forget("update categories set color = 'forgotten' where id = (select min(id) from categories)");
  await forget(
    "update durable_readers set version = '{0,0}', has_fallen = true where durable = 'campaign-projection-content'",
  );
  const reading = startReader(fromOwner);
  await eventually(async () => {
    assert.deepEqual(await forget("select id from categories where color = 'forgotten'"), []);
    const [build] = await forget(
      "select is_beside from projection_builds where name = 'categories' and done_at is not null",
    );
    assert.equal(build?.is_beside, "f");
  });
  await reading.stop();
});

test("a projection that cannot be built beside its live rows is built in their place", async () => {
  await forget("delete from categories where id = (select min(id) from categories)");
  await forget("update projected_versions set version = 0 where kind = 'categories'");
  await forget("select begin_projection_beside('categories')");
  const { beside: _beside, ...projection } = categories(["stages"]);
  const reading = startReader(fromOwner, undefined, projection);
  await eventually(async () => {
    const [build] = await forget(
      "select done_at is not null as done from projection_builds where name = 'categories'",
    );
    assert.equal(build?.done, "t");
    assert.deepEqual(await rowsOf(reader), await rowsOf(owner));
  });
  await reading.stop();
});

test("deleting a category publishes an event for each entity that loses it, in the same transaction", async () => {
  const { item } = await owned.create(message("Doomed"), call());
  const reading = startReader(fromOwner);
  const text = `insert into stages (version, is_published, date_added, name, alias, weight, category_id)
    values (1, true, now(), 'A', 'a', 0, ${item.id}) returning id`;
  await eventually(async () => assert.ok((await rowsOf(reader)).some(({ id }) => Number(id) === item.id)));
  await forget(text);
  await owned.delete(item.id, call());
  await eventually(async () => {
    assert.deepEqual(await forget("select category_id from stages"), [{ category_id: null }]);
  });
  await reading.stop();
});
