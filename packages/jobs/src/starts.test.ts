import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { deadlineExceeded, unavailable } from "@tidings/rpc/fault";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { type Job, type Jobs, jobsOf } from "./jobs.ts";
import { type Claimed, jobQueue } from "./queue.ts";
import { EffectUnknown, type JobOptions, runJobs } from "./run-jobs.ts";
import { startWork } from "./work.ts";

const log = createLog("test", "silent");
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

const query = (text: string, values: unknown[] = []) => database.query({ text }, values, Date.now() + 20_000);
const add = (jobs: Jobs, keys: string[]) =>
  database.transaction(Date.now() + 20_000, async (transaction) =>
    jobs.add(
      transaction,
      keys.map((key) => ({ key })),
    ),
  );
const stateOf = async ({ kind }: Jobs) =>
  (await query("select key, state from jobs where kind = $1 order by key", [kind])).map(
    ({ key, state }) => `${key} ${state}`,
  );

/** Does jobs of a kind whose effect is `effect`, until the test ends. */
function does(kind: string, effect: (job: Job) => Promise<void>, atOnce = 4): Jobs {
  const jobs = jobsOf(kind);
  const options: JobOptions = {
    database,
    log,
    jobs,
    atOnce,
    async effect(job) {
      await effect(job);
      return job;
    },
    work: async () => ({ state: "done" }),
  };
  const running = runJobs(database, log, [options]);
  after(() => running.stop());
  return jobs;
}

test("an effect begins after its start is committed, and a job is gone once it is recorded", async () => {
  const seen: (string | null | undefined)[] = [];
  const jobs = does("begun_once", async ({ key }) => {
    const [row] = await query("select state from jobs where kind = 'begun_once' and key = $1", [key]);
    seen.push(row?.state);
  });
  await add(jobs, ["a", "b", "c"]);
  await eventually(async () => assert.deepEqual(await stateOf(jobs), []));
  assert.deepEqual(seen, ["started", "started", "started"]);
});

test("a job whose worker died after the start becomes unknown and begins again only by name", async () => {
  const jobs = jobsOf("worker_died");
  await add(jobs, ["a"]);
  // This worker claims and starts the job, and is then never heard of again.
  const claimed = await jobs.queue.claim(database, { shares: new Map(), size: 1, after: 0, limit: 1 });
  assert.equal((await jobs.starts.begin(database, claimed)).size, 1);
  await query("update jobs set due_at = now() - interval '1 second' where kind = 'worker_died'");
  const done: string[] = [];
  does("worker_died", async ({ key }) => void done.push(key));
  await eventually(async () => assert.deepEqual(await stateOf(jobs), ["a unknown"]), { timeoutMs: 20_000 });
  await add(jobs, ["a"]);
  assert.equal(await jobs.replay(database), 0);
  assert.deepEqual(await stateOf(jobs), ["a unknown"]);
  assert.equal(await jobs.replay(database, ["a"]), 1);
  await eventually(async () => assert.deepEqual(await stateOf(jobs), []));
  assert.deepEqual(done, ["a"]);
});

test("an effect that took no place is tried again, and one of unknown outcome is not", async () => {
  const attempts = new Map<string, number>();
  const jobs = does("two_outcomes", async ({ key }) => {
    const count = (attempts.get(key) ?? 0) + 1;
    attempts.set(key, count);
    if (key === "broken line") throw new EffectUnknown("The line broke after the last byte.");
    if (count === 1) throw new Error("refused");
  });
  await add(jobs, ["broken line", "refused once"]);
  await eventually(async () => assert.deepEqual(await stateOf(jobs), ["broken line unknown"]));
  assert.deepEqual(Object.fromEntries(attempts), { "broken line": 1, "refused once": 2 });
});

test("a job whose start may have been committed is returned although the database is too slow at first, and begins again", async () => {
  const jobs = jobsOf("slow_start");
  let failures = 0;
  const fails = async () => {
    failures += 1;
    throw failures % 2 === 0 ? deadlineExceeded() : unavailable(undefined);
  };
  const done: string[] = [];
  const worker = startWork<Job, string>({
    ...{ database, log, name: "slow_start" },
    queue: { ...jobs.queue, release: (...given) => (failures < 3 ? fails() : jobs.queue.release(...given)) },
    starts: {
      ...jobs.starts,
      async begin(...given) {
        const begun = await jobs.starts.begin(...given);
        return failures === 0 ? fails() : begun;
      },
    },
    async attempt({ key }, begin) {
      if (!(await begin())) return undefined;
      done.push(key);
      return key;
    },
    isFailure: () => false,
    async record(results) {
      await query("delete from jobs where id = any ($1::bigint[])", [results.map(({ job }) => job.id)]);
      return new Set(results.map(({ job }) => job.id));
    },
    ...{ share: 4, atOnce: 4, inFlightMax: 4, pollMs: 100 },
  });
  after(() => worker.stop());
  await add(jobs, ["slow"]);
  await eventually(() => assert.deepEqual(done, ["slow"]));
  assert.equal(failures, 3);
});

test("a job of an urgent lane is done while another lane has a backlog and hanging attempts", async () => {
  const lane = (name: string, where: string) =>
    jobQueue<Claimed & { key: string }>({
      name,
      table: "jobs",
      where: `kind = 'two_lanes' and ${where}`,
      group: "fair_group",
      due: "due_at",
      order: "due_at, id",
      columns: "key",
      groups:
        "select id as group_id, false as is_failing, null::text as turn from waiting_group where id is not null",
      jobOf: (claimed, { key }) => ({ ...claimed, key: key ?? "" }),
    });
  const release = Promise.withResolvers<void>();
  const done: string[] = [];
  const work = (name: string, where: string, attempt: (key: string) => Promise<void>) => {
    const worker = startWork({
      database,
      log,
      name,
      queue: lane(name, where),
      attempt: ({ key }) => attempt(key),
      isFailure: () => false,
      record: async (results) => new Set(results.map(({ job }) => job.id)),
      share: 4,
      atOnce: 4,
      inFlightMax: 8,
      pollMs: 100,
    });
    after(() => worker.stop());
    return worker;
  };
  const hung: string[] = [];
  await query(
    `insert into jobs (kind, key, fair_group, priority) select 'two_lanes', 'bulk ' || n, n % 3, 1 from generate_series(1, 100) n`,
  );
  work("bulk_lane", "priority > 0", async (key) => {
    hung.push(key);
    await release.promise;
  });
  const urgent = work("urgent_lane", "priority = 0", async (key) => void done.push(key));
  await eventually(() => assert.ok(hung.length >= 3));
  await query("insert into jobs (kind, key, priority) values ('two_lanes', 'urgent', 0)");
  urgent.nudge();
  await eventually(() => assert.deepEqual(done, ["urgent"]));
  release.resolve();
});

test("a worker that stops waits for begun effects under their leases, and begins no other effect", async () => {
  const jobs = jobsOf("stopping");
  const begun = Promise.withResolvers<void>();
  const attempted = Promise.withResolvers<void>();
  const mayBegin = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<void>();
  const late: string[] = [];
  const worker = startWork<Job, string>({
    ...{ database, log, name: "stopping", queue: jobs.queue, starts: jobs.starts },
    async attempt({ key }, begin) {
      if (key === "late") {
        attempted.resolve();
        await mayBegin.promise;
        late.push(await begin());
        return undefined;
      }
      await begin();
      begun.resolve();
      await answered.promise;
      return key;
    },
    isFailure: () => false,
    async record(results) {
      await query("delete from jobs where id = any ($1::bigint[])", [results.map(({ job }) => job.id)]);
      return new Set(results.map(({ job }) => job.id));
    },
    ...{ share: 4, atOnce: 4, inFlightMax: 4, pollMs: 100, stopLimitMs: 20_000 },
  });
  await database.transaction(Date.now() + 20_000, async (transaction) =>
    jobs.add(transaction, [
      { key: "begun", group: 1 },
      { key: "late", group: 2 },
    ]),
  );
  await Promise.all([begun.promise, attempted.promise]);
  const stopped = worker.stop();
  mayBegin.resolve();
  await eventually(() => assert.deepEqual(late, ["lost"]));
  assert.deepEqual(await stateOf(jobs), ["begun started", "late waiting"]);
  await query(
    "update jobs set due_at = now() + interval '1 second' where kind = 'stopping' and key = 'begun'",
  );
  worker.nudge();
  await eventually(async () => {
    const [row] = await query(
      "select due_at > now() + interval '20 seconds' as is_kept from jobs where kind = 'stopping' and key = 'begun'",
    );
    assert.equal(row?.is_kept, "t");
  });
  answered.resolve();
  await stopped;
  assert.deepEqual(await stateOf(jobs), ["late waiting"]);
});
