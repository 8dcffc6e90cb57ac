import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { eventually } from "@tidings/testkit/eventually";
import { superviseProcess } from "./supervised-process.ts";

const folder = await mkdtemp(join(tmpdir(), "tidings-"));
after(() => rm(folder, { recursive: true, force: true }));

const SERVES = `
  setInterval(() => undefined, 1000);
  process.on("disconnect", () => process.exit(0));
  process.on("SIGTERM", () => { console.log("draining"); process.exit(0); });
  console.log("serving " + process.env.PLACE);
  process.send({ ready: true });
`;

test("a process that ends by itself is started again with the same environment", async (t) => {
  const { lines, log } = collected();
  const server = await superviseProcess({
    name: "s",
    entry: await script(SERVES),
    env: { PLACE: "here" },
    log,
  });
  t.after(server.stop);
  const before = server.pid;
  process.kill(before, "SIGKILL");
  await eventually(() => assert.equal(lines.filter((line) => line === "s serving here").length, 2));
  assert.notEqual(server.pid, before);
});

test("a process its caller killed stays down until it is restarted", async (t) => {
  const { lines, log } = collected();
  const server = await superviseProcess({ name: "s", entry: await script(SERVES), env: {}, log });
  t.after(server.stop);
  const before = server.pid;
  server.kill();
  assert.deepEqual(await server.exited, { code: null, signal: "SIGKILL" });
  assert.equal(server.pid, before);
  await server.restart();
  assert.notEqual(server.pid, before);
  assert.equal(
    lines.some((line) => line.includes("started again")),
    false,
  );
});

test("stopping lets the process drain", async () => {
  const { lines, log } = collected();
  const server = await superviseProcess({ name: "s", entry: await script(SERVES), env: {}, log });
  await server.stop();
  assert.deepEqual(await server.exited, { code: 0, signal: null });
  await eventually(() => assert.ok(lines.includes("s draining")));
});

test("a process that ends before it is ready is an error", async () => {
  const { log } = collected();
  const entry = await script("process.exit(3)");
  await assert.rejects(superviseProcess({ name: "s", entry, env: {}, log }), /s did not start \(code 3\)/);
});

function collected() {
  const lines: string[] = [];
  return { lines, log: (name: string, line: string) => void lines.push(`${name} ${line}`) };
}

let scripts = 0;

async function script(source: string): Promise<string> {
  scripts += 1;
  const path = join(folder, `${scripts}.mjs`);
  await writeFile(path, source);
  return path;
}
