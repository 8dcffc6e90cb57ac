import assert from "node:assert/strict";
import { test } from "node:test";
import { untilTick } from "./tick.ts";

test("loops that began at any time are on the same beat", () => {
  const nows = [0, 1, 2_499, 4_400].map((afterMs) => 1_000_000 * 5_000 + afterMs);
  for (const nowMs of nows) assert.equal((nowMs + untilTick(5_000, nowMs)) % 5_000, 0);
});

test("a timer that fires a moment early does not fire twice", () => {
  assert.equal(untilTick(5_000, 9_999), 5_001);
  assert.equal(untilTick(5_000, 10_001), 4_999);
});
