import assert from "node:assert/strict";
import { test } from "node:test";
import { colorOf, type PointColor } from "./point-colors.ts";

const from = (points: number, color: string, times = {}): PointColor => ({
  points,
  color,
  fromMs: Number.NEGATIVE_INFINITY,
  untilMs: Number.POSITIVE_INFINITY,
  ...times,
});

test("the colour is that of the highest number that is reached", () => {
  const colors = [from(100, "ff0000"), from(10, "00ff00"), from(-5, "0000ff")];
  const seen = [-6, -5, 9, 10, 99, 100, 2 ** 31 - 1].map((points) => colorOf(colors, points));
  assert.deepEqual(seen, [undefined, "0000ff", "0000ff", "00ff00", "00ff00", "ff0000", "ff0000"]);
  assert.equal(colorOf([], 5), undefined);
});

test("a trigger whose time has not come, or is over, gives no colour", () => {
  const colors = [
    from(3, "ff0000", { fromMs: Date.now() + 60_000 }),
    from(2, "00ff00", { untilMs: Date.now() - 1 }),
    from(1, "0000ff", { fromMs: Date.now() - 60_000, untilMs: Date.now() + 60_000 }),
  ];
  assert.equal(colorOf(colors, 5), "0000ff");
});
