import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { goProgram } from "./go-program.ts";

const root = await mkdtemp(join(tmpdir(), "tidings-"));
after(() => rm(root, { recursive: true, force: true }));
const bin = join(root, "bin");
await mkdir(bin);
process.env.XDG_CACHE_HOME = join(root, "cache");
process.env.PATH = `${bin}${delimiter}${process.env.PATH}`;

const UNKNOWN = { package: "example.com/tidings-unknown/v2", version: "v2.0.1" };

test("a program is built once, however many ask at once, and kept by its version", async () => {
  await executable("go", 'echo "$*" >> "$XDG_CACHE_HOME/calls"; echo "$*" > "$GOBIN/tidings-unknown"');
  const paths = await Promise.all([goProgram(UNKNOWN), goProgram(UNKNOWN)]);
  assert.equal(paths[0], paths[1]);
  assert.match(await readFile(paths[0], "utf8"), /example\.com\/tidings-unknown\/v2@v2\.0\.1/);
  const builds = await calls();
  assert.equal(await goProgram(UNKNOWN), paths[0]);
  assert.equal(await calls(), builds);
  assert.notEqual(await goProgram({ ...UNKNOWN, version: "v2.0.2" }), paths[0]);
});

test("a build that fails leaves nothing behind and says what was wanted", async () => {
  await executable("go", 'echo half > "$GOBIN/tidings-unknown"; exit 1');
  const wanted = { ...UNKNOWN, version: "v3.0.0" };
  await assert.rejects(goProgram(wanted), /tidings-unknown v3\.0\.0 could not be built/);
  assert.deepEqual(await readdir(join(root, "cache/tidings/go", wanted.package, wanted.version)), []);
});

test("an installed program is taken, unless only one version will do", async () => {
  await executable("go", 'echo built > "$GOBIN/tidings-known"');
  await executable("tidings-known", "exit 0");
  const known = { package: "example.com/cmd/tidings-known", version: "v1.0.0" };
  assert.equal(await goProgram(known), join(bin, "tidings-known"));
  assert.match(await readFile(await goProgram({ ...known, exact: true }), "utf8"), /built/);
});

function executable(name: string, script: string): Promise<void> {
  return writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
}

function calls(): Promise<string> {
  return readFile(join(root, "cache/calls"), "utf8");
}
