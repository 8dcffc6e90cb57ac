import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { test } from "node:test";
import { isAtLeast, serverProgram } from "./server-program.ts";

/** A PATH whose first nats-server says that it has this version. */
async function withNats(version: string, work: () => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tidings-"));
  const program = join(folder, "nats-server");
  await writeFile(program, `#!/bin/sh\necho "nats-server: v${version}"\n`);
  await chmod(program, 0o755);
  const path = process.env.PATH;
  process.env.PATH = [folder, path].join(delimiter);
  try {
    await work();
  } finally {
    process.env.PATH = path;
    await rm(folder, { recursive: true });
  }
}

test("a nats-server on the PATH before 2.10 is refused with its version and the way out", async () => {
  await withNats("2.9.25", async () => {
    await assert.rejects(serverProgram("nats-server"), /is 2\.9\.25, and 2\.10 or later is needed: install/);
  });
});

test("a nats-server on the PATH from 2.10 on is used", async () => {
  await withNats("2.12.1", async () => {
    assert.match((await serverProgram("nats-server")).path, /nats-server$/);
  });
});

test("versions are compared by their numbers", () => {
  for (const version of ["2.10", "2.10.0", "2.10.27", "2.11.1", "3.0"])
    assert.ok(isAtLeast(version, "2.10"), version);
  for (const version of ["2.9.25", "2.1", "1.99", "of no known version"])
    assert.ok(!isAtLeast(version, "2.10"), version);
});
