import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "./eventually.ts";

test("a check is repeated until it stops throwing, and its value returned", async () => {
  let calls = 0;
  const value = await eventually(
    async () => {
      calls += 1;
      assert.equal(calls, 3);
      return "done";
    },
    { intervalMs: 1 },
  );
  assert.equal(value, "done");
  assert.equal(calls, 3);
});

test("the last error is thrown when time is up", async () => {
  let calls = 0;
  const failing = () => {
    calls += 1;
    throw new Error(`failure ${calls}`);
  };
  await assert.rejects(
    eventually(failing, { timeoutMs: 30, intervalMs: 5 }),
    (error: Error) => error.message === `failure ${calls}` && calls > 1,
  );
});
