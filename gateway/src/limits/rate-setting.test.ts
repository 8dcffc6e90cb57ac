import assert from "node:assert/strict";
import { test } from "node:test";
import { rateSetting } from "./rate-setting.ts";

test("a rate allows its burst at once, and its count in each unit", () => {
  assert.deepEqual(rateSetting.parse("30/s burst 60"), { points: 60, windowSeconds: 2 });
  assert.deepEqual(rateSetting.parse("10/min"), { points: 10, windowSeconds: 60 });
  assert.deepEqual(rateSetting.parse("600/min burst 100"), { points: 100, windowSeconds: 10 });
  assert.equal(rateSetting.parse("0"), undefined);
  assert.equal(rateSetting.parse("0/s"), undefined);
});

test("a rate in another form is refused", () => {
  for (const text of ["", "fast", "10", "10/h", "-1/s", "1e9/s"])
    assert.equal(rateSetting.safeParse(text).success, false);
});
