import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { type Database, openDatabase } from "@tidings/database/database";
import type { Transaction } from "@tidings/database/transaction";
import { createLog } from "@tidings/runtime/log";
import { createTestDatabase, type TestDatabase } from "@tidings/testkit/postgres";
import fc from "fast-check";
import { JobState } from "./job-state.ts";
import { type Job, jobsOf } from "./jobs.ts";
import type { Outcome } from "./outcome.ts";
import { LEASE_MS } from "./queue.ts";

const jobs = jobsOf("test_model");
const WORKERS = 3;
const KEYS = ["a", "b", "c", "d"];
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

/** The true state of a job. */
interface Known {
  state: JobState;
  /** Seconds on the model's clock. */
  dueAt: number;
  attempts: number;
  holder: Job | undefined;
}

interface Model {
  now: number;
  known: Map<string, Known>;
  /** The jobs that each worker believes to hold: none after a kill, the earlier ones after a pause. */
  hands: Job[][];
}

const query = (text: string, values: unknown[] = []) => database.query({ text }, values, Date.now() + 20_000);
function inTransaction<T>(work: (transaction: Transaction) => Promise<T>): Promise<T> {
  return database.transaction(Date.now() + 20_000, work);
}

const worker = fc.nat({ max: WORKERS - 1 });
const key = fc.constantFrom(...KEYS);
const delay = fc.constantFrom(0, 10, 100);
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  fc.constant<Outcome>({ state: "done" }),
  delay.map((delaySeconds): Outcome => ({ state: "again", payload: {}, delaySeconds })),
  delay.map((delaySeconds): Outcome => ({ state: "failed", delaySeconds })),
  fc.constant<Outcome>({ state: "unknown", reason: "the line broke" }),
  fc.constant<Outcome>({ state: "set_aside", reason: "bad" }),
);

type Step = (model: Model) => Promise<void>;
const steps: fc.Arbitrary<[string, Step]> = fc.oneof(
  fc
    .tuple(key, delay)
    .map(([name, seconds]): [string, Step] => [`add ${name} in ${seconds}`, add(name, seconds)]),
  worker.map((index): [string, Step] => [`${index} claims`, claim(index)]),
  fc
    .tuple(worker, outcome)
    .map(([index, result]): [string, Step] => [`${index} finishes: ${result.state}`, finish(index, result)]),
  worker.map((index): [string, Step] => [`${index} renews`, renew(index)]),
  worker.map((index): [string, Step] => [`${index} begins`, begin(index)]),
  fc.constant<[string, Step]>(["expired starts are abandoned", abandon]),
  worker.map((index): [string, Step] => [`${index} is killed`, kill(index)]),
  fc
    .constantFrom(5, 29, 31, 1_000)
    .map((seconds): [string, Step] => [`${seconds} seconds pass`, pass(seconds)]),
  fc.constant<[string, Step]>(["the clock goes back", pass(-40)]),
  fc.constant<[string, Step]>(["all that was set aside is replayed", replay]),
);

function kill(index: number): Step {
  return async ({ hands }) => {
    hands[index] = [];
  };
}

function add(name: string, delaySeconds: number): Step {
  return async (model) => {
    await inTransaction(async (transaction) => jobs.add(transaction, [{ key: name, delaySeconds }]));
    const state = model.known.get(name)?.state;
    if (state === JobState.STARTED || state === JobState.UNKNOWN) return;
    model.known.set(name, {
      state: "waiting",
      dueAt: model.now + delaySeconds,
      attempts: 0,
      holder: undefined,
    });
  };
}

function claim(index: number): Step {
  return async (model) => {
    const claimed = await jobs.queue.claim(database, { shares: new Map(), size: 10, after: 0, limit: 10 });
    const due = [...model.known].filter(([, { state, dueAt }]) => state === "waiting" && dueAt <= model.now);
    assert.deepEqual(claimed.map((job) => job.key).sort(), due.map(([name]) => name).sort());
    for (const job of claimed) {
      const known = model.known.get(job.key);
      assert.ok(known);
      assert.equal(job.attempts, known.attempts);
      Object.assign(known, { dueAt: model.now + LEASE_MS / 1_000, holder: job });
      model.hands[index]?.push(job);
    }
  };
}

function finish(index: number, result: Outcome): Step {
  return async ({ hands, known: all, now }) => {
    const job = hands[index]?.shift();
    if (!job) return;
    const isOurs = await inTransaction<boolean>((transaction) => jobs.finish(transaction, job, result));
    const known = all.get(job.key);
    assert.equal(isOurs, known?.holder === job, `${job.key} is finished by its holder alone`);
    if (!isOurs || !known) return;
    if (result.state === "done") all.delete(job.key);
    else if ("reason" in result) Object.assign(known, { state: result.state, holder: undefined });
    else {
      const attempts = result.state === "failed" ? known.attempts + 1 : 0;
      // The token stays: until somebody else claims it, its last holder may still say more.
      const dueAt = now + (result.delaySeconds ?? 0);
      Object.assign(known, { state: JobState.WAITING, dueAt, attempts, holder: job });
    }
  };
}

function renew(index: number): Step {
  return async ({ hands, known, now }) => {
    const held = hands[index] ?? [];
    if (held.length === 0) return;
    const kept = await jobs.queue.renew(database, held);
    for (const job of held) {
      const isOurs = known.get(job.key)?.holder === job;
      assert.equal(kept.has(job), isOurs);
      if (isOurs) Object.assign(known.get(job.key) ?? {}, { dueAt: now + LEASE_MS / 1_000 });
    }
  };
}

/** Only a job that still waits for its holder can be started, and once. */
function begin(index: number): Step {
  return async ({ hands, known, now }) => {
    const held = [...new Map((hands[index] ?? []).map((job) => [job.key, job])).values()];
    if (held.length === 0) return;
    const begun = await jobs.starts.begin(database, held);
    for (const job of held) {
      const state = known.get(job.key);
      const isBegun = state?.holder === job && state.state === JobState.WAITING;
      assert.equal(begun.has(job), isBegun);
      if (isBegun) Object.assign(state, { state: JobState.STARTED, dueAt: now + LEASE_MS / 1_000 });
    }
  };
}

async function abandon({ known: all, now }: Model): Promise<void> {
  const expired = [...all.values()].filter(({ state, dueAt }) => state === JobState.STARTED && dueAt < now);
  assert.equal((await jobs.starts.abandon(database)).length, expired.length);
  for (const known of expired) Object.assign(known, { state: JobState.UNKNOWN, holder: undefined });
}

/** Instead of the clock, the rows move: the database's is the only one that counts. */
function pass(seconds: number): Step {
  return async (model) => {
    await query("update jobs set due_at = due_at - $1::float8 * interval '1 second'", [seconds]);
    model.now += seconds;
  };
}

async function replay({ known: all, now }: Model): Promise<void> {
  const aside = [...all.values()].filter(({ state }) => state === "set_aside");
  assert.equal(await jobs.replay(database), aside.length);
  for (const known of aside)
    Object.assign(known, { state: "waiting", dueAt: now, attempts: 0, holder: undefined });
}

/** A worker that holds a job under two leases, of which one is its own. */
const claimedAgain: [string, Step][] = [
  ["add a", add("a", 0)],
  ["1 claims", claim(1)],
  ["add a", add("a", 0)],
  ["1 claims", claim(1)],
  ["1 renews", renew(1)],
];

/** A worker that was paused through its lease after it had begun. */
const pausedAfterStart: [string, Step][] = [
  ["add a", add("a", 0)],
  ["1 claims", claim(1)],
  ["1 begins", begin(1)],
  ["31 seconds pass", pass(31)],
  ["expired starts are abandoned", abandon],
  ["1 finishes", finish(1, { state: "done" })],
  ["add a", add("a", 0)],
  ["2 claims", claim(2)],
];

test("whatever workers, clocks and callers do, one worker at a time has a job, no job is lost, and no started job starts again", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(steps, { minLength: 5, maxLength: 40 }), async (plan) => {
      await query("delete from jobs");
      const model: Model = { now: 0, known: new Map(), hands: Array.from({ length: WORKERS }, () => []) };
      for (const [, step] of plan) await step(model);
      // In the end everything that is open can be done by somebody who was never there before.
      await pass(10_000)(model);
      await abandon(model);
      model.hands[0] = [];
      await claim(0)(model);
      for (let left = model.hands[0].length; left > 0; left -= 1) await finish(0, { state: "done" })(model);
      const rows = await query("select key from jobs where state in ('waiting', 'started')");
      assert.deepEqual(rows, []);
    }),
    { numRuns: 150, examples: [[claimedAgain], [pausedAfterStart]] },
  );
});
