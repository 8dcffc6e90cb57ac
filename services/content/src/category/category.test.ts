import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { FieldMaskSchema } from "@bufbuild/protobuf/wkt";
import { type Database, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { type Category, CategorySchema } from "@tidings/proto/tidings/content/v1/category";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Repository } from "@tidings/resource/repository-options";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { reach } from "@tidings/rpc/permission";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { categories } from "./category.ts";

let testDatabase: TestDatabase;
let database: Database;
let rows: Repository<Category>;
let ids: Record<string, number>;

const BUNDLES = ["email", "stage", "segment"];

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("content"), log: createLog("test", "silent") });
  rows = categories({ database, outbox: createOutbox() });
  const { items } = await rows.batchCreate(BUNDLES.map(categoryOf), everything());
  ids = Object.fromEntries(items.map(({ bundle, id }) => [bundle, id]));
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

function categoryOf(bundle: string): Category {
  return create(CategorySchema, { title: `Of ${bundle}`, bundle });
}

function callOf(permissions: Record<string, string[]>, admin = false): Call {
  const actor = { kind: "user" as const, id: 1, name: "Ada", admin, permissions };
  const deadlineMs = Date.now() + 20_000;
  return { actor, deadlineMs, requestId: "test", reach: (verb) => reach(actor, "category:categories", verb) };
}

const everything = () => callOf({}, true);
const change = (id: number) => ({
  id,
  message: create(CategorySchema, { color: "ff0000" }),
  updateMask: create(FieldMaskSchema, { paths: ["color"] }),
  allowMissing: false,
});
const bundlesSeen = async (call: Call, query = {}) => {
  const { items, totalSize } = await rows.list(create(ListQuerySchema, { pageSize: 100, ...query }), call);
  return { bundles: items.map(({ bundle }) => bundle).sort(), totalSize };
};
const isFault = (code: Code) => (error: unknown) => error instanceof Fault && error.code === code;

test("a caller who sees the categories of emails sees no others, in lists and totals too", async () => {
  const call = callOf({ "email:categories": ["view"] });
  assert.deepEqual(await bundlesSeen(call), { bundles: ["email"], totalSize: 1 });
  assert.deepEqual((await bundlesSeen(call, { ids: Object.values(ids) })).bundles, ["email"]);
  assert.equal((await rows.get(ids.email ?? 0, call)).bundle, "email");
  await assert.rejects(rows.get(ids.stage ?? 0, call), isFault(Code.NOT_FOUND));
});

test("bundles without a permission of their own have that of categories", async () => {
  const call = callOf({ "category:categories": ["view", "edit"] });
  assert.deepEqual(await bundlesSeen(call), { bundles: ["segment"], totalSize: 1 });
  assert.equal((await rows.update(change(ids.segment ?? 0), call)).item.color, "ff0000");
  await assert.rejects(rows.update(change(ids.email ?? 0), call), isFault(Code.NOT_FOUND));
});

test("an edit of a category that is only visible is PERMISSION_DENIED, alone and in a batch", async () => {
  const call = callOf({ "email:categories": ["view"], "stage:categories": ["view", "edit", "delete"] });
  await assert.rejects(rows.update(change(ids.email ?? 0), call), isFault(Code.PERMISSION_DENIED));
  const all = BUNDLES.map((bundle) => change(ids[bundle] ?? 0));
  const codes = [Code.PERMISSION_DENIED, undefined, Code.NOT_FOUND];
  const updated = await rows.batchUpdate(all, call);
  assert.deepEqual(
    updated.statuses.map(({ error }) => error?.code),
    codes,
  );
  assert.equal(updated.items[1]?.color, "ff0000");
  const deleted = await rows.batchDelete([ids.email ?? 0, 2_000_000_000], call);
  assert.deepEqual(
    deleted.statuses.map(({ error }) => error?.code),
    [Code.PERMISSION_DENIED, Code.NOT_FOUND],
  );
});

test("a category is made of the bundles whose categories one may make", async () => {
  const call = callOf({ "point:categories": ["create", "view"] });
  assert.equal((await rows.create(categoryOf("point"), call)).created, true);
  await assert.rejects(rows.create(categoryOf("form"), call), isFault(Code.PERMISSION_DENIED));
  const { statuses } = await rows.batchCreate([categoryOf("form"), categoryOf("point")], call);
  assert.deepEqual(
    statuses.map(({ error, created }) => error?.code ?? created),
    [Code.PERMISSION_DENIED, true],
  );
});

test("every operation of a caller without these rights is PERMISSION_DENIED", async () => {
  const call = callOf({ "lead:leads": ["full"] });
  await assert.rejects(bundlesSeen(call), isFault(Code.PERMISSION_DENIED));
  await assert.rejects(rows.get(ids.email ?? 0, call), isFault(Code.PERMISSION_DENIED));
  await assert.rejects(rows.batchDelete([ids.email ?? 0], call), isFault(Code.PERMISSION_DENIED));
});
