import assert from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { test } from "node:test";
import { coalesce } from "./coalesce.ts";

test("requests during a batch share the next batch, and each waits for its own batch", async () => {
  const goes: string[][] = [];
  const gates: (() => void)[] = [];
  const ask = coalesce(async (items: string[]) => {
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

test("a batch that fails fails its own items, and no others", async () => {
  const ask = coalesce(async (items: string[]) => {
    if (items.includes("bad")) throw new Error("bad");
  });
  const bad = ask("a", "bad");
  const [refused, done] = await Promise.allSettled([bad, turn().then(() => ask("a", "good"))]);
  assert.deepEqual([refused?.status, done?.status], ["rejected", "fulfilled"]);
  await ask("a", "later");
});

test("no more batches run at a time than may, and none has too many items", async () => {
  const goes: string[][] = [];
  const gates: (() => void)[] = [];
  const work = async (items: string[]) => {
    goes.push([...items]);
    await new Promise<void>((open) => gates.push(open));
  };
  const ask = coalesce(work, { atOnce: 2, itemsMax: 2 });
  const all = ["1", "2", "3", "4", "5"].map((item) => ask("a", item));
  await turn();
  assert.deepEqual(goes, [
    ["1", "2"],
    ["3", "4"],
  ]);
  gates.shift()?.();
  await all[0];
  await turn();
  assert.deepEqual(goes.at(-1), ["5"]);
  for (const open of gates.splice(0)) open();
  await Promise.all(all);
});

test("a batch runs in the context of its first call, also when it had to wait", async () => {
  const context = new AsyncLocalStorage<string>();
  const seen: (string | undefined)[] = [];
  const ask = coalesce(async (_items: string[]) => {
    seen.push(context.getStore());
    await turn();
  });
  const first = context.run("first", () => ask("a", "1"));
  await turn();
  const second = context.run("second", () => ask("a", "2"));
  await Promise.all([first, second]);
  assert.deepEqual(seen, ["first", "second"]);
});

const turn = () => new Promise((resolve) => setImmediate(resolve));
