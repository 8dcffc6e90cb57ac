import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { type Database, openDatabase } from "@tidings/database/database";
import { createOutbox } from "@tidings/messaging/outbox";
import { type Stage, StageSchema } from "@tidings/proto/tidings/campaign/v1/stage";
import { ListQuerySchema } from "@tidings/proto/tidings/type/v1/list";
import type { Call } from "@tidings/rpc/call";
import { Code, Fault } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { categoryReference } from "./category-reference.ts";
import { repository } from "./repository.ts";
import type { Repository } from "./repository-options.ts";

let testDatabase: TestDatabase;
let database: Database;
let stages: Repository<Stage>;

before(async () => {
  testDatabase = await createTestDatabase();
  // The role that makes tables differs from the one that uses them; this test needs both.
  const url = new URL(testDatabase.adminUrl);
  url.searchParams.set("options", "-c search_path=campaign");
  database = openDatabase({ url: url.href, log: createLog("test", "silent") });
  await database.query({ text: "alter table stages add date_deleted timestamptz" }, [], Date.now() + 20_000);
  const context = { database, outbox: createOutbox(), references: { category: categoryReference(database) } };
  stages = repository<Stage>(context, StageSchema, { deletion: "kept" });
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

test("a row that is deleted and kept is hidden from every caller", async () => {
  const { item } = await stages.create(create(StageSchema, { name: "Kept after all" }), call());
  const { id } = item;
  await stages.delete(id, call());
  const isMissing = (error: unknown) => error instanceof Fault && error.code === Code.NOT_FOUND;
  await assert.rejects(stages.get(id, call()), isMissing);
  await assert.rejects(stages.delete(id, call()), isMissing);
  const change = {
    id,
    message: create(StageSchema, { name: "Back" }),
    updateMask: undefined,
    allowMissing: false,
  };
  await assert.rejects(stages.update(change, call()), isMissing);
  for (const asked of [{ search: "kept" }, { ids: [id] }]) {
    const { items } = await stages.list(create(ListQuerySchema, { pageSize: 10, ...asked }), call());
    assert.deepEqual(items, []);
  }
  const text = "select id from stages where id = $1 and date_deleted is not null";
  assert.equal((await database.query({ text }, [id], Date.now() + 20_000)).length, 1);
});
