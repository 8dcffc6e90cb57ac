import assert from "node:assert/strict";
import { test } from "node:test";
import { DEFAULT_SCHEDULE, nextDelay, parseRetryAfter } from "./schedule.ts";

test("twelve attempts are spread over three days, each by a fifth at most", () => {
  for (let attempts = 1; attempts < 12; attempts += 1) {
    const step = DEFAULT_SCHEDULE[attempts] ?? 0;
    const delay = nextDelay(DEFAULT_SCHEDULE, attempts, 0) ?? 0;
    assert.ok(delay >= step * 0.8 && delay <= step * 1.2, `${delay} for ${step}`);
  }
  assert.equal(nextDelay(DEFAULT_SCHEDULE, 12, 0), undefined);
});

test("Retry-After delays the next attempt, a day at most", () => {
  assert.equal(nextDelay([0, 5], 1, 60), 60);
  assert.equal(nextDelay([0, 5], 1, 10 ** 9), 86_400);
  assert.ok((nextDelay([0, 500], 1, 60) ?? 0) >= 400);
});

test("Retry-After is read as seconds or as a date", () => {
  const now = Date.parse("2026-11-20T10:00:00Z");
  assert.equal(parseRetryAfter("120", now), 120);
  assert.equal(parseRetryAfter("Fri, 20 Nov 2026 10:01:00 GMT", now), 60);
  assert.equal(parseRetryAfter("Fri, 20 Nov 2026 09:00:00 GMT", now), 0);
  assert.equal(parseRetryAfter("soon", now), 0);
  assert.equal(parseRetryAfter(undefined, now), 0);
});
