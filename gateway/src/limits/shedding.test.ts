import assert from "node:assert/strict";
import { after, test } from "node:test";
import { Code, Fault } from "@tidings/rpc/fault";
import { eventually } from "@tidings/testkit/eventually";
import { loadShedding } from "./shedding.ts";

function shedding(inFlightMax: number) {
  const made = loadShedding(inFlightMax);
  after(made.stop);
  return made;
}

const isBusy = (error: unknown) =>
  error instanceof Fault && error.code === Code.RESOURCE_EXHAUSTED && (error.retryAfterSeconds ?? 0) > 0;

test("reads are refused first, writes last, and both with a time to retry", () => {
  const load = shedding(4);
  for (let count = 0; count < 4; count += 1) load.admit("read");
  assert.throws(() => load.admit("read"), isBusy);
  for (let count = 0; count < 4; count += 1) load.admit("write");
  assert.throws(() => load.admit("write"), isBusy);
});

test("hits are refused while reads are still admitted", () => {
  const load = shedding(4);
  for (let count = 0; count < 2; count += 1) load.admit("hit");
  assert.throws(() => load.admit("hit"), isBusy);
  load.admit("read");
});

test("a refused request does not count, and an ended one makes room", () => {
  const load = shedding(1);
  load.admit("read");
  assert.throws(() => load.admit("read"), isBusy);
  load.leave();
  load.admit("read");
});

test("reads are refused earlier while the event loop is late, and admitted again afterwards", async () => {
  const load = shedding(8);
  load.admit("read");
  load.admit("read");
  await eventually(
    () => {
      block(200);
      assert.throws(() => load.admit("read"), isBusy);
    },
    { intervalMs: 1 },
  );
  load.admit("write");
  await eventually(() => load.admit("read"));
});

function block(milliseconds: number): void {
  const end = performance.now() + milliseconds;
  while (performance.now() < end);
}
