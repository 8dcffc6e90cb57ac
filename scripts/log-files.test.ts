import assert from "node:assert/strict";
import { test } from "node:test";
import { forScreen } from "./log-files.ts";

test("a warning is shown with its cause on one line", () => {
  const line = JSON.stringify({
    level: "warn",
    msg: "connection lost",
    err: { message: "reset", stack: "..." },
  });
  assert.equal(forScreen(line), "warn: connection lost: reset");
});

test("information is not shown", () => {
  assert.equal(forScreen('{"level":"info","msg":"ready"}'), undefined);
});

test("what is not a log entry is shown as it is", () => {
  assert.equal(forScreen("Error: no such file"), "Error: no such file");
  assert.equal(forScreen("{}"), "{}");
});
