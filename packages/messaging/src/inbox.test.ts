import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { backgroundDeadline, type Database, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { newEvents } from "./inbox.ts";

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("webhook"), log: createLog("test", "silent") });
});

after(async () => {
  await database.close();
  await testDatabase.drop();
});

test("an event is new once for each consumer, even twice in one batch", async () => {
  const [first, second] = [randomUUID(), randomUUID()];
  assert.deepEqual(await record("a", [first, first]), new Set([first]));
  assert.deepEqual(await record("a", [second, first]), new Set([second]));
  assert.deepEqual(await record("b", [first]), new Set([first]));
});

test("an event whose effect failed is new again", async () => {
  const id = randomUUID();
  const failing = database.transaction(backgroundDeadline(), async (transaction) => {
    await newEvents(transaction, "a", [id]);
    throw new Error("effect failed");
  });
  await assert.rejects(failing, /effect failed/);
  assert.deepEqual(await record("a", [id]), new Set([id]));
});

test("concurrent consumers of the same events handle each event once", async () => {
  const ids = Array.from({ length: 50 }, () => randomUUID());
  const shuffled = [ids, ids.toReversed(), ids.toSorted(), ids];
  const results = await Promise.all(shuffled.map((some) => record("a", some)));
  const all = results.flatMap((fresh) => [...fresh]);
  assert.deepEqual(all.toSorted(), ids.toSorted());
});

function record(consumer: string, ids: string[]): Promise<Set<string>> {
  return database.transaction(backgroundDeadline(), (transaction) => newEvents(transaction, consumer, ids));
}
