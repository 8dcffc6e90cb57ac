import assert from "node:assert/strict";
import { test } from "node:test";
import { changes } from "./regressions.ts";

const line = (name: string, ...costs: number[]) => ({ name, title: name, costs });

test("a line is worse or better when it changed by more than its rounds differ, in either run", () => {
  const before = [line("get", 2, 2.1, 2), line("patch", 3, 4, 3), line("post", 3, 3, 3), line("gone", 1)];
  const now = [
    line("get", 2.4, 2.4, 2.5),
    line("patch", 3.9, 3.9, 3.9),
    line("post", 2, 2, 2),
    line("new", 1),
  ];
  const verdicts = changes(before, now).map(({ title, verdict }) => [title, verdict]);
  assert.deepEqual(verdicts, [
    ["get", "worse"],
    ["patch", ""],
    ["post", "better"],
  ]);
});

test("rounds that all agree leave five per cent to chance", () => {
  const [change] = changes([line("get", 2, 2, 2)], [line("get", 2.09, 2.09, 2.09)]);
  assert.deepEqual([change?.verdict, change?.noise], ["", 0.05]);
});
