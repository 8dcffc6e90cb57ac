import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase, queryAsSuperuser, type TestDatabase } from "@tidings/testkit/postgres";
import { type Claimed, jobQueue } from "./queue.ts";
import { jobStarts } from "./starts.ts";

let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log: createLog("test", "silent") });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});

const query = (text: string) => database.query({ text }, [], Date.now() + 20_000);
const idsOf = (jobs: Iterable<Claimed>) => [...jobs].map(({ id }) => Number(id));

/** A new table of jobs 1 to `count`, of which the first is due for longest. */
async function tableOf(table: string, count: number) {
  await queryAsSuperuser(
    testDatabase,
    `set search_path = contact;
     create table ${table} (id bigint primary key, fair_group integer not null default 1, state text not null default 'waiting', due_at timestamptz not null,
       leased_until timestamptz, lease_token integer not null default 0, attempts integer not null default 0, started_at timestamptz
     ) with (fillfactor = 40);
     create index on ${table} (fair_group, due_at) where state = 'waiting';
     create index on ${table} (due_at) where state = 'started';
     grant select, update on ${table} to public;
     insert into ${table} (id, due_at) select i, now() - (${count + 1} - i) * interval '1 minute' from generate_series(1, ${count}) i`,
  );
  const definition = {
    ...{ name: table, table, where: "true", group: "fair_group", columns: "state" },
    ...{ due: "due_at", lease: "leased_until", order: "due_at", startedAt: "started_at" },
    groups:
      "select id as group_id, false as is_failing, null::text as turn from waiting_group where id is not null",
    jobOf: (claimed: Claimed) => claimed,
  };
  const queue = jobQueue(definition);
  return {
    queue,
    starts: jobStarts(definition),
    claim: (size: number) =>
      queue.claim(database, { shares: new Map([[1, size]]), size: 1, after: 0, limit: 100 }),
    dueTimes: async () =>
      (await query(`select due_at from ${table} order by id`)).map(({ due_at }) => due_at),
  };
}

test("a claim leaves the due time and every index alone, and others get what nobody has", async () => {
  const { queue, claim, dueTimes } = await tableOf("claimed_jobs", 60);
  const due = await dueTimes();
  assert.deepEqual(idsOf(await claim(50)), idsUpTo(50));
  assert.deepEqual(await dueTimes(), due);
  assert.deepEqual(idsOf(await claim(50)), [51, 52, 53, 54, 55, 56, 57, 58, 59, 60]);
  assert.deepEqual(await claim(50), []);
  assert.equal(await queue.untilDue(database), undefined);
  await eventually(async () => {
    const [row] = await query(
      "select n_tup_upd as updates, n_tup_hot_upd as without_indexes from pg_stat_user_tables where relname = 'claimed_jobs'",
    );
    assert.deepEqual(row, { updates: "60", without_indexes: "60" });
  });
});

test("a job whose lease ends is claimed again, and its earlier holder neither renews nor starts it", async () => {
  const { queue, starts, claim } = await tableOf("ended_leases", 3);
  const held = await claim(3);
  await query("update ended_leases set leased_until = now() - interval '1 second' where id < 3");
  assert.ok(((await queue.untilDue(database)) ?? 0) < 0);
  // The holder of an ended lease that nobody took has the job for another one.
  assert.deepEqual(idsOf(await queue.renew(database, held.slice(1))), [2, 3]);
  const [again] = await claim(3);
  assert.equal(again?.id, "1");
  assert.deepEqual(idsOf(await queue.renew(database, held)), [2, 3]);
  assert.deepEqual(idsOf(await starts.begin(database, held)), [2, 3]);
});

test("a job that is given back keeps its place, and one that was started is due at once", async () => {
  const { queue, starts, claim, dueTimes } = await tableOf("given_back", 3);
  const [first, second] = await claim(2);
  assert.ok(first && second);
  const due = await dueTimes();
  assert.deepEqual(idsOf(await starts.begin(database, [second])), [2]);
  await queue.release(database, [first, second]);
  assert.deepEqual((await dueTimes())[0], due[0]);
  assert.deepEqual(idsOf(await claim(3)), [1, 3, 2]);
});

test("a started job becomes unknown once its lease is over, and no sooner, however often it was renewed", async () => {
  const { queue, starts, claim } = await tableOf("abandoned_jobs", 2);
  const held = await claim(2);
  assert.equal((await starts.begin(database, held)).size, 2);
  await query("update abandoned_jobs set due_at = now() - interval '1 second'");
  assert.deepEqual(idsOf(await queue.renew(database, held.slice(0, 1))), [1]);
  await query("update abandoned_jobs set leased_until = now() - interval '1 second'");
  assert.deepEqual(await claim(2), []);
  assert.deepEqual(await starts.abandon(database), ["2"]);
  assert.deepEqual(await claim(2), []);
});

function idsUpTo(last: number): number[] {
  return Array.from({ length: last }, (_, index) => index + 1);
}
