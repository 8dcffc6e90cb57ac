import assert from "node:assert/strict";
import { after, test } from "node:test";
import { startReceiverServer } from "./receiver.ts";

const receiver = await startReceiverServer({ port: 0, host: "127.0.0.1" });
after(receiver.stop);
const url = `http://127.0.0.1:${receiver.port}`;
const deliver = (body: string) => fetch(`${url}/any/path`, { method: "POST", body });
const statusOf = async (mark: string, withinMs: number) =>
  (await fetch(`${url}/deliveries/${mark}?withinMs=${withinMs}`)).status;

test("a client that waits for a mark is answered as soon as a webhook brings it, and a later one at once", async () => {
  const waiting = [statusOf("load1-a-1", 20_000), statusOf("load1-a-1", 20_000)];
  const delivered = await deliver(JSON.stringify({ contact: { fax: "load1-a-1" } }));
  assert.equal(delivered.status, 200);
  assert.deepEqual(await Promise.all(waiting), [200, 200]);
  assert.equal(await statusOf("load1-a-1", 0), 200);
});

test("a mark that nobody brings is not found, nor one that another begins with", async () => {
  await deliver(JSON.stringify({ fax: "load1-b-12" }));
  assert.equal(await statusOf("load1-b-1", 0), 404);
  assert.equal(await statusOf("load1-b-12", 0), 200);
});

test("a body without end is refused and not kept", async () => {
  const { status } = await deliver(`${"x".repeat(5 * 1024 * 1024)} load1-c-1 `);
  assert.equal(status, 413);
  assert.equal(await statusOf("load1-c-1", 0), 404);
});
