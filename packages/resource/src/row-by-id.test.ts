import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { backgroundDeadline, type Database, openDatabase, prepared } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase } from "@tidings/testkit/postgres";
import { rowById } from "./row-by-id.ts";

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.adminUrl, log: createLog("test", "silent") });
  await run("create table plants (id integer primary key, name text)");
  await run("insert into plants select n, 'plant ' || n from generate_series(1, 100) n");
});

after(async () => {
  await database.close();
  await testDatabase.drop();
});

const run = (text: string) => database.query({ text }, [], backgroundDeadline());
const statement = prepared("plants_by_id", "select id, name from plants where id = any ($1::integer[])");
const read = (id: number) => rowById(database, statement, { id, deadlineMs: backgroundDeadline() });

test("each of many callers gets the row it asked for, and nothing where there is none", async () => {
  const ids = Array.from({ length: 300 }, (_, index) => (index % 150) + 1);
  const rows = await Promise.all(ids.map(read));
  assert.deepEqual(
    rows.map((row) => row?.name),
    ids.map((id) => (id <= 100 ? `plant ${id}` : undefined)),
  );
});

test("a row is as it was written before the read, beside concurrent reads", async () => {
  let isReading = true;
  const others = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (isReading) await read(1);
    }),
  );
  for (let round = 1; round <= 50; round += 1) {
    await run(`update plants set name = 'round ${round}' where id = 1`);
    assert.equal((await read(1))?.name, `round ${round}`);
  }
  isReading = false;
  await others;
});

test("a statement that fails rejects all calls that wait for it, and none after", async () => {
  const broken = prepared(
    "plants_broken",
    "select id, 1 / (id - id) as name from plants where id = any ($1::integer[])",
  );
  const ask = () => rowById(database, broken, { id: 1, deadlineMs: backgroundDeadline() });
  const results = await Promise.allSettled([ask(), ask()]);
  assert.deepEqual(
    results.map(({ status }) => status),
    ["rejected", "rejected"],
  );
  assert.equal((await read(2))?.name, "plant 2");
});
