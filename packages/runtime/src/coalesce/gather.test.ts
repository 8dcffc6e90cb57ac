import assert from "node:assert/strict";
import { test } from "node:test";
import { gather } from "./gather.ts";

test("calls go on together once enough of them wait, and those after them wait anew", async () => {
  const gathered = gather({ waitMs: 60_000, isEnough: (count) => count === 3 });
  const gone: number[] = [];
  const call = (number: number) => gathered().then(() => gone.push(number));
  const first = [call(1), call(2)];
  await turn();
  assert.deepEqual(gone, []);
  first.push(call(3));
  const later = call(4);
  await Promise.all(first);
  assert.deepEqual(gone, [1, 2, 3]);
  await Promise.all([later, call(5), call(6)]);
  assert.deepEqual(gone, [1, 2, 3, 4, 5, 6]);
});

test("a call does not wait longer than it may for others that do not come", async () => {
  await gather({ waitMs: 1, isEnough: () => false })();
});

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
