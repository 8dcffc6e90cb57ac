import assert from "node:assert/strict";
import { test } from "node:test";
import { winnerOf } from "./email-test.ts";
import { testShare } from "./test-share.ts";

test("the test share is exact over any number of slices, and spread evenly over the recipients", () => {
  for (const percent of [1, 10, 33, 50, 99]) {
    const chosen: number[] = [];
    let offered = 0;
    for (const size of [1, 1, 2, 3, 0, 500, 7, 86]) {
      const slice = Array.from({ length: size }, (_, index) => offered + index);
      chosen.push(...testShare(slice, { offered, percent }));
      offered += size;
      assert.equal(chosen.length, Math.ceil((offered * percent) / 100));
    }
    const gaps = chosen.slice(1).map((place, index) => place - (chosen[index] ?? 0));
    assert.ok(Math.max(...gaps) - Math.min(...gaps) <= 1, `${percent} %: ${gaps}`);
  }
});

test("the email itself wins over others with the same rate, else the first of them, and it stays where none has one", () => {
  const variants = [{ id: 7 }, { id: 3 }, { id: 9 }] as Parameters<typeof winnerOf>[0]["variants"];
  const winner = (winners: number[]) => winnerOf({ winners, variants });
  assert.deepEqual([winner([3, 7]), winner([3, 9]), winner([])], [7, 3, 7]);
  assert.equal(winnerOf({ winners: [], variants: [] }), undefined);
});
