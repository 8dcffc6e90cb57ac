import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { isFree } from "./free-port.ts";
import { startNats } from "./nats.ts";
import { startPostgres } from "./postgres.ts";
import { startRedis } from "./redis.ts";
import { PortTakenError } from "./server-process.ts";

const root = await mkdtemp(join(tmpdir(), "tidings-"));
after(() => rm(root, { recursive: true, force: true }));

test("Postgres keeps its password over a restart and leaves nothing running", async (t) => {
  const dataDir = await newFolder();
  const first = await startPostgres({ dataDir, durable: false });
  await first.stop();
  assert.throws(() => process.kill(first.pid, 0), { code: "ESRCH" });
  const second = await startPostgres({ dataDir, durable: false });
  t.after(second.stop);
  assert.equal(new URL(second.url).password, new URL(first.url).password);
});

test("a Postgres still running on the same data is stopped first", async (t) => {
  const dataDir = await newFolder();
  const leftOver = await startPostgres({ dataDir, durable: false });
  const next = await startPostgres({ dataDir, durable: false });
  t.after(next.stop);
  assert.equal(await isFree(leftOver.port), true);
  assert.equal(await readFile(join(dataDir, "server.pid"), "utf8"), String(next.pid));
});

test("a killed NATS comes back on the same port", async (t) => {
  const nats = await startNats({ dataDir: await newFolder() });
  t.after(nats.stop);
  await nats.kill();
  await assert.rejects(greeting(nats.port));
  await nats.start();
  assert.match(await greeting(nats.port), /"jetstream":true/);
});

test("a wanted port that is in use has an error of its own", async (t) => {
  const redis = await startRedis({ dataDir: await newFolder() });
  t.after(redis.stop);
  const again = startRedis({ dataDir: await newFolder(), port: redis.port });
  await assert.rejects(again, PortTakenError);
});

function newFolder(): Promise<string> {
  return mkdtemp(join(root, "data-"));
}

/** The first line a NATS server sends. */
async function greeting(port: number): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  for await (const chunk of socket) return String(chunk);
  throw new Error("nothing received");
}
