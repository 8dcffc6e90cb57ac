import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { test } from "node:test";
import { promisify } from "node:util";

const PROGRAM = `
  import { createLog } from "${import.meta.resolve("./log.ts")}";
  import { run } from "${import.meta.resolve("./run.ts")}";
  const log = createLog("test", "silent");
  const options = { name: "test", log, host: "127.0.0.1", opsPort: 0, shutdownDelayMs: 0, traceStatementsMs: 1_000 };
  await run(options, async () => {
    // Samoa had no December 30th in 2011.
    console.log(new Date(2011, 11, 30).toString());
    process.exit(0);
  });
`;

test("a process counts in UTC, whatever its container says", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", PROGRAM], {
    env: { ...process.env, TZ: "Pacific/Apia" },
  });
  assert.match(stdout, /^Fri Dec 30 2011 00:00:00 GMT\+0000/);
});
