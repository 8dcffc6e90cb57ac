import assert from "node:assert/strict";
import { mkdir, readFile, rmdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { temporaryFolder } from "@tidings/testkit/temporary-folder";
import { forScreen, openLogFile } from "./log-files.ts";

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

test("a line that is no log entry is shown as it is", () => {
  assert.equal(forScreen("Error: no such file"), "Error: no such file");
  assert.equal(forScreen("{}"), "{}");
});

test("lines that cannot be written are dropped and counted, and writing goes on by itself", async (t) => {
  const folder = await temporaryFolder();
  t.after(folder.remove);
  const path = join(folder.path, "a.log");
  let time = 0;
  const file = openLogFile(path, () => time);
  // A folder in its place fails every write, as a full disk does.
  await mkdir(path);
  file.write("lost");
  await eventually(() => {
    time += 1;
    file.write("lost");
    assert.ok(time > 5);
  });
  await rmdir(path);
  time += 10_000;
  await eventually(async () => {
    time += 10_000;
    file.write("kept");
    assert.match(await readFile(path, "utf8"), /\d+ lines could not be written\nkept\n/);
  });
});
