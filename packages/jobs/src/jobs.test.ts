import assert from "node:assert/strict";
import { after, before, beforeEach, describe, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { unavailable } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { jobsSource } from "./backlog.ts";
import { type Job, jobsOf, type NewJob } from "./jobs.ts";
import type { Outcome } from "./outcome.ts";
import { type JobOptions, runJobs, stepJobs } from "./run-jobs.ts";

const log = createLog("test", "silent");
const letters = jobsOf("test_letter");
const ordered = jobsOf("test_ordered", { isOrdered: true });
let testDatabase: TestDatabase;
let database: Database;

before(async () => {
  testDatabase = await createTestDatabase();
  database = openDatabase({ url: testDatabase.url("contact"), log });
});
after(async () => {
  await database.close();
  await testDatabase.drop();
});
beforeEach(() => query("delete from jobs"));

const query = (text: string, values: unknown[] = []) => database.query({ text }, values, Date.now() + 20_000);
const add = (jobs: NewJob[], kind = letters) =>
  database.transaction(Date.now() + 20_000, async (transaction) => kind.add(transaction, jobs));
const claim = async (limit = 100, kind = letters) =>
  kind.queue.claim(database, { shares: new Map(), size: 10, after: 0, limit });
const keysOf = (jobs: Job[]) => jobs.map(({ key }) => key);
const finish = (job: Job, outcome: Outcome) =>
  database.transaction(Date.now() + 20_000, (transaction) => letters.finish(transaction, job, outcome));
const passTime = (seconds: number) =>
  query("update jobs set due_at = due_at - $1::float8 * interval '1 second'", [seconds]);

function options(work: (transaction: Transaction, job: Job) => Promise<Outcome>): JobOptions {
  return { database, log, jobs: letters, work };
}

test("a job is claimed by one worker until its lease ends", async () => {
  await add([{ key: "a", payload: { to: "Ada" } }]);
  const claims = await Promise.all(Array.from({ length: 8 }, () => claim()));
  const [job] = claims.flat();
  assert.equal(claims.flat().length, 1);
  assert.deepEqual(job?.payload, { to: "Ada" });
  await passTime(29);
  assert.deepEqual(await claim(), []);
  await passTime(2);
  assert.deepEqual(keysOf(await claim()), ["a"]);
});

test("the backlog of each kind has the open jobs, the age of the first due one, the dead-lettered and the unknown ones", async () => {
  const source = jobsSource(database, [letters.kind, ordered.kind]);
  const backlog = async () => {
    const readings = await source.read(Date.now() + 20_000);
    return [letters, ordered].map(({ kind }) =>
      readings.filter(({ labels }) => labels?.kind === kind).map(({ value }) => value),
    );
  };
  assert.deepEqual(await backlog(), [
    [0, 0, 0, 0],
    [0, 0, 0, 0],
  ]);
  await add([
    { key: "a", delaySeconds: 3_600 },
    { key: "b", group: 2, delaySeconds: 60 },
  ]);
  await add([{ key: "c" }, { key: "e" }]);
  await add([{ key: "d", delaySeconds: 5 }], ordered);
  const [job] = await claim(1);
  assert.ok(job);
  await finish(job, { state: "set_aside", reason: "bug" });
  const [started] = await claim(1);
  assert.ok(started);
  await letters.starts.begin(database, [started]);
  await passTime(31);
  await letters.starts.abandon(database);
  await passTime(-31);
  assert.deepEqual(await backlog(), [
    [2, 0, 1, 1],
    [1, 0, 0, 0],
  ]);
  await passTime(100);
  const [[open, overdue] = [], [, orderedOverdue] = []] = await backlog();
  assert.equal(open, 2);
  assert.equal(Math.floor((overdue ?? 0) / 10), 4);
  assert.equal(Math.floor((orderedOverdue ?? 0) / 10), 9);
});

test("a worker that lost its lease can neither finish the job nor renew it", async () => {
  await add([{ key: "a" }]);
  const [late] = await claim();
  await passTime(31);
  const [current] = await claim();
  assert.ok(late && current);
  assert.equal(await finish(late, { state: "done" }), false);
  assert.equal((await letters.queue.renew(database, [late])).size, 0);
  assert.equal(await finish(current, { state: "done" }), true);
  assert.deepEqual(await query("select 1 from jobs"), []);
});

test("a job that goes on is due at once, also where the renewal of its lease comes late", async () => {
  await add([{ key: "a" }]);
  const [job] = await claim();
  assert.ok(job && (await finish(job, { state: "again", payload: { page: 2 } })));
  assert.equal((await letters.queue.renew(database, [job])).size, 0);
  assert.deepEqual(
    (await claim()).map(({ payload }) => payload),
    [{ page: 2 }],
  );
});

test("a job that is asked for again begins anew, and who holds it has lost it", async () => {
  await add([{ key: "a", payload: { version: 1 } }]);
  const [held] = await claim();
  await add([{ key: "a", payload: { version: 2 } }]);
  assert.equal(held && (await finish(held, { state: "done" })), false);
  assert.deepEqual(
    (await claim()).map(({ payload }) => payload),
    [{ version: 2 }],
  );
});

test("jobs come in the order of priority and due time, and not before they are due", async () => {
  await add([
    { key: "late", delaySeconds: 60 },
    { key: "later", priority: 5 },
    { key: "first", priority: -5 },
  ]);
  await add([{ key: "soon" }]);
  assert.deepEqual(keysOf(await claim()), ["first", "soon", "later"]);
});

test("a queue knows when its next job is due", async () => {
  assert.equal(await letters.queue.untilDue(database), undefined);
  await add([{ key: "late", delaySeconds: 60 }]);
  const dueMs = (await letters.queue.untilDue(database)) ?? 0;
  assert.ok(dueMs > 50_000 && dueMs <= 60_000, String(dueMs));
});

test("a group with a long backlog keeps no other waiting", async () => {
  await add(Array.from({ length: 50 }, (_, index) => ({ key: `bulk ${index}`, group: 1 })));
  await add([{ key: "single", group: 2 }]);
  assert.ok(keysOf(await claim(11)).includes("single"));
});

test("an ordered group has one job in flight, the oldest, also after failures", async () => {
  await add([{ key: "1", group: 1 }], ordered);
  await add([{ key: "2", group: 1 }], ordered);
  await add([{ key: "3", group: 2 }], ordered);
  assert.deepEqual(keysOf(await claim(100, ordered)).sort(), ["1", "3"]);
  assert.deepEqual(await claim(100, ordered), []);
});

test("the effect of an attempt and what becomes of its job are one transaction", async () => {
  await add([{ key: "a" }]);
  await stepJobs(
    options(async (transaction) => {
      // While we worked, the job was asked for again.
      await add([{ key: "a" }]);
      transaction.execute({ text: "insert into segment_uses (segment_id, used_id) values (1, 1)" });
      return { state: "done" };
    }),
  );
  assert.deepEqual(await query("select 1 from segment_uses"), []);
  assert.deepEqual(keysOf(await claim()), ["a"]);
});

describe("a job that fails", () => {
  const failing = () => options(() => Promise.reject(new Error("the paper is out")));

  test("is tried again, later each time, and set aside with its reason in the end", async () => {
    await add([{ key: "bad" }, { key: "good" }]);
    const done: string[] = [];
    const worker = runJobs(database, log, [
      options(async (_transaction, { key }) => {
        if (key === "bad") throw new Error("the paper is out");
        done.push(key);
        return { state: "done" };
      }),
    ]);
    await eventually(() => assert.deepEqual(done, ["good"]));
    await worker.stop();
    for (let attempt = 2; attempt <= 10; attempt += 1) {
      await passTime(1_000);
      await stepJobs(failing());
    }
    assert.deepEqual(await letters.listSetAside(database), [{ key: "bad", reason: "the paper is out" }]);
    await passTime(100_000);
    assert.deepEqual(await claim(), []);
  });

  test("can be replayed, and then begins with its first attempt", async () => {
    await add([{ key: "bad" }]);
    const [job] = await claim();
    assert.ok(job && (await finish(job, { state: "set_aside", reason: "no" })));
    assert.equal(await letters.replay(database, ["other"]), 0);
    assert.equal(await letters.replay(database), 1);
    assert.deepEqual(
      (await claim()).map(({ key, attempts }) => [key, attempts]),
      [["bad", 0]],
    );
  });
});

test("one poll finds the jobs of all kinds that other replicas added", async () => {
  const done: string[] = [];
  const worker = runJobs(database, log, [
    options(async (_transaction, { key }) => {
      done.push(key);
      return { state: "done" };
    }),
  ]);
  await add([{ key: "own" }]);
  await eventually(() => assert.deepEqual(done, ["own"]));
  // This process is not notified of commits of another process.
  const replica = jobsOf(letters.kind);
  await add([{ key: "later", delaySeconds: 1 }, { key: "now" }], replica);
  await eventually(() => assert.deepEqual(done, ["own", "now", "later"]), { timeoutMs: 15_000 });
  await worker.stop();
});

test("a worker is woken by the commit that made a job, and asks for nothing while there is none", async (t) => {
  let asked = 0;
  // Claims and the look-up of the next due job are transactions; a poll for the jobs of other replicas is none.
  const counting: Database = {
    ...database,
    transaction(...transaction) {
      asked += 1;
      return database.transaction(...transaction);
    },
  };
  const done: string[] = [];
  const own = options(async (_transaction, { key }) => {
    done.push(key);
    return { state: "done" };
  });
  const worker = runJobs(database, log, [{ ...own, database: counting }]);
  t.after(() => worker.stop());
  await eventually(() => assert.equal(asked, 2));
  await new Promise((resolve) => setTimeout(resolve, 400));
  assert.equal(asked, 2);
  const startedAt = performance.now();
  await add([{ key: "a" }]);
  await eventually(() => assert.deepEqual(done, ["a"]), { intervalMs: 2 });
  assert.ok(performance.now() - startedAt < 1_000);
});

test("a job that needs somebody who is away is tried again within 15 s, however often it failed, and is not given up", async () => {
  await add([{ key: "a" }]);
  const failing = options(async () => {
    throw unavailable(new Error("away"));
  });
  for (let attempt = 0; attempt < 20; attempt += 1) {
    assert.equal((await stepJobs(failing))?.state, "failed");
    await passTime(15);
  }
  assert.equal((await stepJobs(options(async () => ({ state: "done" }))))?.state, "done");
});
