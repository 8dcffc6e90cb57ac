import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { RATE_BUDGETS, takeTokens } from "./rate-budget.ts";

let testDatabase: TestDatabase;
let replicas: Database[];

before(async () => {
  testDatabase = await createTestDatabase();
  await queryAsSuperuser(
    testDatabase,
    `set search_path to contact; ${RATE_BUDGETS.join(";")}; grant all on rate_budgets to tidings_template_contact`,
  );
  const open = () => openDatabase({ url: testDatabase.url("contact"), log: createLog("test", "silent") });
  replicas = [open(), open(), open()];
});
after(async () => {
  await Promise.all(replicas.map((replica) => replica.close()));
  await testDatabase.drop();
});

const deadline = () => Date.now() + 20_000;

test("all replicas together are granted what the budget has, and no token more", async () => {
  // One token in a thousand seconds: nothing is refilled while the test runs.
  const request = { name: "smtp.example.com", wanted: 3, perSecond: 0.001, burst: 100 };
  const grants = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      takeTokens(replicas[index % 3] as Database, [request], deadline()),
    ),
  );
  const granted = grants.reduce((sum, grant) => sum + (grant.get("smtp.example.com")?.granted ?? 0), 0);
  assert.equal(granted, 100);
  const [replica] = replicas as [Database];
  const after = (await takeTokens(replica, [request], deadline())).get("smtp.example.com");
  assert.equal(after?.granted, 0);
  assert.ok(after.waitSeconds > 900 && after.waitSeconds <= 1_000, String(after.waitSeconds));
});

test("a budget refills with its rate up to its burst, and several are taken from by one call", async () => {
  const [replica] = replicas as [Database];
  const take = async (wanted: number) => {
    const fast = { name: "fast", wanted, perSecond: 1_000_000, burst: 10 };
    const slow = { name: "slow", wanted, perSecond: 0.001, burst: 5 };
    const grants = await takeTokens(replica, [slow, fast], deadline());
    return [grants.get("fast")?.granted, grants.get("slow")?.granted];
  };
  assert.deepEqual(await take(50), [10, 5]);
  // The fast one is full again after ten microseconds, which a call takes.
  assert.deepEqual(await take(50), [10, 0]);
});

test("tokens that a caller spares are left to one who spares none", async () => {
  const [replica] = replicas as [Database];
  const take = async (wanted: number, spared: number) => {
    const request = { name: "spared", wanted, perSecond: 0.001, burst: 10, spared };
    return (await takeTokens(replica, [request], deadline())).get("spared");
  };
  assert.equal((await take(20, 2))?.granted, 8);
  const missed = await take(20, 2);
  assert.equal(missed?.granted, 0);
  assert.ok(missed.waitSeconds > 900 && missed.waitSeconds <= 1_000, String(missed.waitSeconds));
  assert.equal((await take(20, 0))?.granted, 2);
});
