import assert from "node:assert/strict";
import { test } from "node:test";
import { notFound, unavailable } from "./fault.ts";
import { isUnanswered, retryBudget } from "./retry.ts";

test("a read that nobody answers is tried three times", async () => {
  let attempts = 0;
  const read = async () => {
    attempts += 1;
    if (attempts < 3) throw unavailable(new Error("away"));
    return "answer";
  };
  assert.equal(await retryBudget().run(read, isUnanswered), "answer");
  assert.equal(attempts, 3);
});

test("an answer that is a failure is not asked for again", async () => {
  let attempts = 0;
  const read = async () => {
    attempts += 1;
    throw notFound();
  };
  await assert.rejects(retryBudget().run(read, isUnanswered));
  assert.equal(attempts, 1);
});

test("when everything fails the budget runs out and calls fail at once", async () => {
  const budget = retryBudget();
  let attempts = 0;
  const read = async () => {
    attempts += 1;
    throw unavailable(new Error("away"));
  };
  await Promise.allSettled(Array.from({ length: 100 }, () => budget.run(read, isUnanswered)));
  assert.ok(attempts <= 100 + 51, `${attempts} attempts`);
});
