import assert from "node:assert/strict";
import { test } from "node:test";
import { together } from "./together.ts";

test("what is asked for meanwhile is done in one go, and each waits for the go that has his", async () => {
  const goes: string[][] = [];
  const gates: (() => void)[] = [];
  const ask = together<string>(async (items) => {
    goes.push([...items]);
    await new Promise<void>((open) => gates.push(open));
  });
  const first = ask("a", "1");
  await turn();
  const others = [ask("a", "2"), ask("a", "3"), ask("b", "4")];
  await turn();
  assert.deepEqual(goes, [["1"], ["4"]]);
  for (const open of gates.splice(0)) open();
  await first;
  await turn();
  assert.deepEqual(goes, [["1"], ["4"], ["2", "3"]]);
  for (const open of gates.splice(0)) open();
  await Promise.all(others);
});

test("a go that fails fails those who are in it, and no other", async () => {
  const ask = together<string>(async (items) => {
    if (items.includes("bad")) throw new Error("bad");
  });
  const bad = ask("a", "bad");
  const [refused, done] = await Promise.allSettled([bad, turn().then(() => ask("a", "good"))]);
  assert.deepEqual([refused?.status, done?.status], ["rejected", "fulfilled"]);
  await ask("a", "later");
});

const turn = () => new Promise((resolve) => setImmediate(resolve));
