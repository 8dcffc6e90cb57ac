import assert from "node:assert/strict";
import { test } from "node:test";
import { inSteps } from "./long-work.ts";

const PIECE_MS = 2;
const PIECES = 60;

/** Work of 2 ms, which may pause once. */
function* piece(): Generator<void, void> {
  yield;
  const endsAt = performance.now() + PIECE_MS;
  while (performance.now() < endsAt);
}

async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await work();
  isOver = true;
  return turns;
}

test("other work has the event loop between many short works in a row, and between those at once", async () => {
  const inARow = async () => {
    for (let index = 0; index < PIECES; index += 1) await inSteps(piece());
  };
  const atOnce = () => Promise.all(Array.from({ length: PIECES }, () => inSteps(piece())));
  // 120 ms of work in turns of 10 ms, and the piece that ends each.
  assert.ok((await turnsDuring(inARow)) >= 8);
  assert.ok((await turnsDuring(atOnce)) >= 8);
});
