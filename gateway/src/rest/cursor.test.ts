import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault } from "@tidings/rpc/fault";
import { cursorsOf } from "./cursor.ts";

const DAY_MS = 86_400_000;
const isRefused = (error: unknown) => error instanceof Fault && /older than a day/.test(error.message);

test("a cursor opens for a day, and is refused after that", (t) => {
  t.mock.timers.enable({ apis: ["Date"], now: 1_800_000_000_000 });
  const cursors = cursorsOf("secret");
  const cursor = cursors.seal("[7]", "query");
  t.mock.timers.tick(DAY_MS);
  assert.equal(cursors.open(cursor, "query"), "[7]");
  t.mock.timers.tick(1);
  assert.throws(() => cursors.open(cursor, "query"), isRefused);
});

test("a cursor of another query, of another secret, changed by a bit, cut or made up is refused", () => {
  const cursors = cursorsOf("secret");
  const cursor = cursors.seal("[7]", "query");
  assert.throws(() => cursors.open(cursor, "another query"), isRefused);
  assert.throws(() => cursorsOf("another secret").open(cursor, "query"), isRefused);
  const bytes = Buffer.from(cursor, "base64url");
  for (let at = 0; at < bytes.length; at += 1) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    assert.throws(() => cursors.open(changed.toString("base64url"), "query"), isRefused);
    assert.throws(() => cursors.open(bytes.subarray(0, at).toString("base64url"), "query"), isRefused);
  }
  for (const made of ["x", "ä", "7".repeat(9_000)])
    assert.throws(() => cursors.open(made, "query"), isRefused);
});
