import assert from "node:assert/strict";
import { after, before, beforeEach, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import { SegmentSchema } from "@tidings/proto/tidings/contact/v1/segment";
import type { Actor } from "@tidings/rpc/actor";
import { actingAs } from "@tidings/rpc/current-actor";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import { jobsOf, type NewJob } from "./jobs.ts";
import type { Outcome } from "./outcome.ts";
import { RECORDS_RETAINED } from "./records.ts";
import { retention } from "./retention.ts";
import { stepJobs } from "./run-jobs.ts";

const log = createLog("test", "silent");
const letters = jobsOf("test_shown", { shown: { subject: SegmentSchema } });
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
beforeEach(async () => {
  await query("delete from jobs where kind <> 'job_records'");
  await query("delete from job_records");
});

const query = (text: string, values: unknown[] = []) => database.query({ text }, values, Date.now() + 20_000);
const subject = { id: 7, name: "Seven", ownerId: 3 };
const add = (jobs: NewJob[]) =>
  database.transaction(Date.now() + 20_000, async (transaction) => letters.add(transaction, jobs));
/** One attempt with this outcome; what it throws is a failed attempt. */
const attempt = (outcome: () => Outcome) =>
  stepJobs({ database, log, jobs: letters, work: async () => outcome() });
const records = () =>
  query(
    `select key, state, done, total, problem, result, created_by, created_by_user, date_ended is not null as is_ended
     from job_records order by id`,
  );
const failing = () => {
  throw new Error('relation "letters" does not exist');
};

test("a job without a subject has no record, and its attempts none either", async () => {
  await add([{ key: "a" }]);
  await attempt(() => ({ state: "done", progress: { done: 1 } }));
  assert.deepEqual(await records(), []);
});

test("a record has what each attempt did, who caused the job, and its end", async () => {
  const ada: Actor = { kind: "user", id: 5, name: "Ada", admin: false, permissions: {} };
  await actingAs(ada, () => add([{ key: "a", subject }]));
  const waiting = {
    key: "a",
    state: "waiting",
    done: "0",
    total: null,
    problem: null,
    result: "{}",
    created_by: "5",
  };
  assert.deepEqual(await records(), [{ ...waiting, created_by_user: "Ada", is_ended: "f" }]);
  await attempt(() => ({
    state: "again",
    payload: {},
    progress: { done: 2, total: 3, result: { sent: 2 } },
  }));
  const running = { ...waiting, state: "running", done: "2", total: "3", result: '{"sent": 2}' };
  assert.deepEqual(await records(), [{ ...running, created_by_user: "Ada", is_ended: "f" }]);
  await attempt(() => ({ state: "done", progress: { done: 3 } }));
  const done = { ...running, state: "done", done: "3" };
  assert.deepEqual(await records(), [{ ...done, created_by_user: "Ada", is_ended: "t" }]);
});

test("a job that is asked for again before its end begins its record anew; after its end it has another one", async () => {
  await add([{ key: "a", subject }]);
  await attempt(() => ({ state: "again", payload: {}, progress: { done: 2, total: 3 } }));
  await add([{ key: "a", subject }]);
  const [anew, ...others] = await records();
  assert.deepEqual([anew?.state, anew?.done, anew?.total, others.length], ["waiting", "0", null, 0]);
  await attempt(() => ({ state: "done" }));
  await add([{ key: "a", subject }]);
  assert.deepEqual(
    (await records()).map(({ state }) => state),
    ["done", "waiting"],
  );
});

test("callers read neither the text of an error nor its values, while it is tried again and in the end", async () => {
  await add([{ key: "a", subject }]);
  await attempt(failing);
  const [waiting] = await records();
  assert.equal(waiting?.state, "waiting");
  assert.equal(waiting.problem, "The last attempt failed; there will be another one.");
  await query("update jobs set attempts = 9, due_at = now()");
  await attempt(failing);
  const [failed] = await records();
  assert.deepEqual([failed?.state, failed?.is_ended], ["failed", "t"]);
  assert.doesNotMatch(JSON.stringify(await records()), /letters/);
});

test("a job that an operator lets begin anew has its record back", async () => {
  await add([{ key: "a", subject }]);
  await query("update jobs set attempts = 9");
  await attempt(failing);
  assert.equal(await letters.replay(database), 1);
  const [again, ...others] = await records();
  assert.deepEqual([again?.state, again?.problem, again?.is_ended, others.length], ["waiting", null, "f", 0]);
  await attempt(() => ({ state: "done", problem: "Nobody lives there." }));
  assert.deepEqual((await records())[0]?.problem, "Nobody lives there.");
});

test("records of jobs that ended 30 days ago are forgotten, open ones never", async () => {
  await add(["old", "new", "open"].map((key) => ({ key, subject })));
  await query(
    `update job_records set date_added = now() - interval '90 days',
       date_ended = case key when 'old' then now() - interval '31 days' when 'new' then now() - interval '29 days' end`,
  );
  assert.equal((await stepJobs(retention(database, log, RECORDS_RETAINED)))?.state, "again");
  assert.deepEqual((await records()).map(({ key }) => key).sort(), ["new", "open"]);
});
