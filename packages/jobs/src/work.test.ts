import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import type { Claimed, Queue } from "./queue.ts";
import { startWork, type WorkOptions } from "./work.ts";

const GROUP = 7;
const SHARE = 16;
const JOBS = 10 * SHARE;

const EMPTY: Omit<Queue<Claimed>, "claim"> = {
  renew: async () => new Set(),
  release: async () => undefined,
  untilDue: async () => undefined,
  countWaiting: async () => ({ waiting: 0, putOff: 0 }),
};

const OPTIONS: Omit<WorkOptions<Claimed, boolean>, "queue" | "attempt"> = {
  database: {} as Database,
  log: createLog("test", "silent"),
  name: "test",
  isFailure: (isDone) => !isDone,
  isAgain: (isDone) => !isDone,
  record: async (results) => new Set(results.map(({ job }) => job.id)),
  pollMs: 60_000,
  share: SHARE,
  atOnce: SHARE,
  inFlightMax: 2 * SHARE,
};

test("jobs of a group are claimed by halves of its share, and all are attempted", async () => {
  let made = 0;
  let claims = 0;
  const queue: Queue<Claimed> = {
    ...EMPTY,
    async claim(_database, { shares, size }) {
      claims += 1;
      const count = Math.min(JOBS - made, shares.get(GROUP) ?? size);
      const first = made;
      made += count;
      return Array.from({ length: count }, (_, index) => newJob(String(first + index)));
    },
  };
  const attempted = new Set<string>();
  const worker = startWork<Claimed, boolean>({
    ...OPTIONS,
    queue,
    async attempt({ id }) {
      await new Promise(setImmediate);
      return attempted.add(id).size > 0;
    },
  });
  await eventually(() => assert.equal(attempted.size, JOBS));
  await worker.stop();
  assert.ok(claims <= JOBS / (SHARE / 2) + 3, `${claims} claims`);
});

test("a job that is due again once its result is recorded is claimed at once, whatever the database said before", async () => {
  const due = [newJob("1")];
  let claims = 0;
  const queue: Queue<Claimed> = {
    ...EMPTY,
    async claim(_database, { shares, size }) {
      claims += 1;
      return due.splice(0, shares.get(GROUP) ?? size);
    },
  };
  const ends: boolean[] = [];
  const { isAgain: _, ...options } = OPTIONS;
  const worker = startWork<Claimed, boolean>({
    ...options,
    queue,
    attempt: async () => ends.push(true) > 0,
    async record(results) {
      if (ends.length < 5) due.push(...results.map(({ job }) => job));
      return new Set(results.map(({ job }) => job.id));
    },
  });
  await eventually(() => assert.equal(ends.length, 5));
  await worker.stop();
  assert.ok(claims < 10, `${claims} claims`);
});

test("a group whose job succeeds while others are claimed gets its share at once", async () => {
  const job = newJob("1");
  const succeeded = Promise.withResolvers<void>();
  const shares: (number | undefined)[] = [];
  const queue: Queue<Claimed> = {
    ...EMPTY,
    async claim(_database, claiming) {
      shares.push(claiming.shares.get(GROUP));
      if (shares.length === 1) return [job];
      succeeded.resolve();
      // The attempt ends while this claim is under way.
      await new Promise(setImmediate);
      return [];
    },
  };
  const attempt = () => succeeded.promise.then(() => true);
  const worker = startWork<Claimed, boolean>({ ...OPTIONS, queue, attempt });
  await eventually(() => assert.equal(shares.length, 1));
  worker.nudge();
  await eventually(() => assert.ok(shares.length >= 3));
  await worker.stop();
  assert.deepEqual(shares.slice(0, 3), [undefined, 0, SHARE]);
});

function newJob(id: string): Claimed {
  return { id, group: GROUP, attempts: 0, isOrdered: false, isFailing: false, leaseToken: 1 };
}
