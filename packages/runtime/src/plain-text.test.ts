import assert from "node:assert/strict";
import { test } from "node:test";
import { textOf, wholeNumberOf, withoutEntities, withoutTags } from "./plain-text.ts";

for (const [text, expected] of [
  ["Ada <b>Lovelace</b>", "Ada Lovelace"],
  ["<script>alert(1)</script>", "alert(1)"],
  ["a < b and c > d", "a < b and c > d"],
  ["I <3 you", "I <3 you"],
  ["<<b>script>x", "script>x"],
  ["<<<<b>script>x", "script>x"],
  ["<scr<b>ipt>x", "ipt>x"],
  ["<!-- a -->b<?php c ?>d", "bd"],
  ["1 <", "1 <"],
  ["<b", "<b"],
  ["x<br/>y", "xy"],
] as const)
  test(`"${text}" without tags is "${expected}"`, () => assert.equal(withoutTags(text), expected));

test("no bait makes taking out tags slow", () => {
  for (const bait of ["<", "<a", "<<a", "<a>", "<a<", "< ", "<!"]) {
    const startedAt = performance.now();
    withoutTags(bait.repeat(1_000_000 / bait.length));
    const milliseconds = performance.now() - startedAt;
    // A second look at each sign would take a quarter of an hour.
    assert.ok(milliseconds < 1_000, `${bait}: ${milliseconds} ms`);
  }
});

test("entities are signs, once", () => {
  assert.equal(
    withoutEntities("a &amp; b &lt;c&gt; &#039;&quot;&#39; &amp;lt; &copy;"),
    "a & b <c> '\"' &lt; &copy;",
  );
});

test("only texts, numbers and switches have a text", () => {
  assert.deepEqual([textOf("a"), textOf(1.5), textOf(true)], ["a", "1.5", "true"]);
  for (const value of [null, undefined, {}, [], ["a"], { toString: 1, valueOf: 1 }, () => 1])
    assert.equal(textOf(value), undefined);
});

test("whole numbers come as numbers or texts", () => {
  assert.deepEqual([wholeNumberOf(5), wholeNumberOf(" -7 "), wholeNumberOf(1e3)], [5, -7, 1000]);
  for (const value of [1.5, "1.5", "", "1e3", true, null, {}, "1".repeat(16)])
    assert.equal(wholeNumberOf(value), undefined, String(value));
});
