import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { serverClock } from "./clock.ts";

const HOUR_MS = 3_600_000;

const NOON_MS = Date.UTC(2027, 0, 15, 12);

/** A clock whose server is `aheadMs` ahead of this machine. `questions` are those that the clock itself asks. */
function scene(t: TestContext, aheadMs: number) {
  t.mock.timers.enable({ apis: ["Date"], now: NOON_MS });
  const begunAt = performance.now();
  const server = () => NOON_MS + aheadMs + (performance.now() - begunAt);
  const questions: number[] = [];
  const clock = serverClock(async () => questions.push(server()));
  return { clock, server, questions };
}

const assertNear = (actual: number, expected: number) =>
  assert.ok(Math.abs(actual - expected) < 500, `${actual} is not ${expected}`);

test("time is the server's from its first answer on", (t) => {
  const { clock, server } = scene(t, -HOUR_MS);
  assertNear(clock.now(), server() + HOUR_MS);
  clock.note(server(), performance.now());
  assertNear(clock.now(), server());
});

test("setting the clock of this machine changes no time, and the server is asked once", async (t) => {
  const { clock, server, questions } = scene(t, 0);
  clock.note(server(), performance.now());
  t.mock.timers.setTime(NOON_MS + 2 * HOUR_MS);
  assertNear(clock.now(), server());
  assertNear(clock.now(), server());
  assert.equal(questions.length, 1);
});

test("an answer within the uncertainty of its round trip changes nothing", (t) => {
  const { clock, server } = scene(t, 0);
  clock.note(server(), performance.now());
  const before = clock.now() - performance.now();
  clock.note(server() - 1_000 + 300, performance.now() - 2_000);
  assert.ok(Math.abs(clock.now() - performance.now() - before) <= 1);
});
