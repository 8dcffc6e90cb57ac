import assert from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "@tidings/database/database";
import { createLog } from "@tidings/runtime/log";
import { eventually } from "@tidings/testkit/eventually";
import type { Claimed, Queue } from "./queue.ts";
import { startWork } from "./work.ts";

const GROUP = 7;
const SHARE = 16;

test("a group whose job succeeds while others are claimed gets its share at once", async () => {
  const job: Claimed = {
    id: "1",
    group: GROUP,
    attempts: 0,
    isOrdered: false,
    isFailing: false,
    leaseToken: 1,
  };
  const succeeded = Promise.withResolvers<void>();
  const shares: (number | undefined)[] = [];
  const queue: Queue<Claimed> = {
    async claim(_database, claiming) {
      shares.push(claiming.shares.get(GROUP));
      if (shares.length === 1) return [job];
      succeeded.resolve();
      // The attempt ends while this claim is under way.
      await new Promise(setImmediate);
      return [];
    },
    renew: async () => new Set(),
    release: async () => undefined,
    untilDue: async () => undefined,
    countWaiting: async () => ({ waiting: 0, putOff: 0 }),
  };
  const worker = startWork<Claimed, boolean>({
    database: {} as Database,
    log: createLog("test", "silent"),
    name: "test",
    queue,
    attempt: () => succeeded.promise.then(() => true),
    isFailure: (isDone) => !isDone,
    record: async (results) => new Set(results.map(({ job }) => job.id)),
    pollMs: 60_000,
    share: SHARE,
    atOnce: SHARE,
    inFlightMax: SHARE,
  });
  await eventually(() => assert.equal(shares.length, 1));
  worker.nudge();
  await eventually(() => assert.ok(shares.length >= 3));
  await worker.stop();
  assert.deepEqual(shares.slice(0, 3), [undefined, 0, SHARE]);
});
