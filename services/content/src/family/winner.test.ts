import assert from "node:assert/strict";
import { test } from "node:test";
import { winnersOf } from "./winner.ts";

const rates = (...values: (number | undefined)[]) => values.map((rate, index) => ({ id: index + 1, rate }));

test("the variant with the lowest bounce rate wins, even one of 0", () => {
  assert.deepEqual(winnersOf("page.bouncerate", rates(0.5, 0.25, undefined)), [2]);
  assert.deepEqual(winnersOf("page.bouncerate", rates(0.5, 0)), [2]);
});

test("by every other criterion the highest rate wins, and a rate of 0 never does", () => {
  for (const criterion of [
    "page.dwelltime",
    "form.submissions",
    "asset.downloads",
    "email.openrate",
  ] as const) {
    assert.deepEqual(winnersOf(criterion, rates(1, 3, 2)), [2], criterion);
    assert.deepEqual(winnersOf(criterion, rates(0, 0)), [], criterion);
  }
});

test("variants with the same best rate win together", () => {
  assert.deepEqual(winnersOf("page.dwelltime", rates(4, 1, 4)), [1, 3]);
  assert.deepEqual(winnersOf("page.bouncerate", rates(0.1, 0.1)), [1, 2]);
});

test("nothing wins before anything was measured", () => {
  assert.deepEqual(winnersOf("page.bouncerate", rates(undefined, undefined)), []);
  assert.deepEqual(winnersOf("page.dwelltime", []), []);
});
