import assert from "node:assert/strict";
import { test } from "node:test";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { register } from "prom-client";
import { openDatabase } from "./database.ts";

const NAMES = {
  in_use: 'tidings_database_connections{state="in_use"}',
  idle: 'tidings_database_connections{state="idle"}',
  max: "tidings_database_connections_max",
  waiting: "tidings_database_waiting",
};

async function use() {
  const lines = (await register.metrics()).split("\n");
  const sampleOf = (name: string) => Number(lines.find((line) => line.startsWith(`${name} `))?.split(" ")[1]);
  return Object.fromEntries(Object.entries(NAMES).map(([key, name]) => [key, sampleOf(name)]));
}

test("connections in use and waiting requests are counted; a closed pool is not", async (t) => {
  const testDatabase = await createTestDatabase();
  t.after(() => testDatabase.drop());
  const url = testDatabase.url("contact");
  const database = openDatabase({ url, log: createLog("test", "silent"), connectionsMax: 2 });
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const work = () => released;
  const all = [1, 2, 3].map(() => database.transaction(Date.now() + 20_000, work));
  await eventually(async () => assert.deepEqual(await use(), { in_use: 2, idle: 0, max: 2, waiting: 1 }));
  release();
  await Promise.all(all);
  assert.deepEqual(await use(), { in_use: 0, idle: 2, max: 2, waiting: 0 });
  await database.close();
  assert.deepEqual(await use(), { in_use: 0, idle: 0, max: 0, waiting: 0 });
});
