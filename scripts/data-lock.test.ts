import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { lockDataDir } from "./data-lock.ts";

const root = await mkdtemp(join(tmpdir(), "tidings-"));
after(() => rm(root, { recursive: true, force: true }));

test("a directory another start works on is refused, with its process id", async (t) => {
  const dataDir = await mkdtemp(join(root, "data-"));
  const other = spawn(process.execPath, ["-e", "setInterval(() => undefined, 1000)", "start.ts"]);
  t.after(() => other.kill());
  await once(other, "spawn");
  await writeFile(join(dataDir, "lock"), String(other.pid));
  assert.throws(() => lockDataDir(dataDir), new RegExp(`process ${other.pid}`));
});

test("the lock of a process that is gone does not count", async (t) => {
  const dataDir = await mkdtemp(join(root, "data-"));
  const gone = spawn(process.execPath, ["--version"]);
  await once(gone, "exit");
  await writeFile(join(dataDir, "lock"), String(gone.pid));
  t.after(lockDataDir(dataDir));
});

test("a released directory can be locked again", async () => {
  const dataDir = await mkdtemp(join(root, "data-"));
  lockDataDir(dataDir)();
  lockDataDir(dataDir)();
});
